(** What the transition function of Machine.v does, whatever the solver, the detector, the reasoner and the
    operator do: an invariant of every execution, and from it the four claims of Theorem 1.

    The plans are only known through [PlannerLaws]; Theorem1.v and Robust.v prove these laws for Eq. (3). *)

From Coq Require Import List Arith Bool Lia.
From Aesop Require Import Plans Machine.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

Section Properties.
  Variables State Input Name : Type.
  Variable sys : System State Input Name.
  Notation T := (full_horizon sys).
  Notation K := (full_consensus sys).
  Notation Plan := (Plan Input Name).

  (** [plant x u x']: x' can follow x when u was sent. *)
  Variable plant : State -> Input -> State -> Prop.
  Variable X : State -> Prop.
  Variable U : Input -> Prop.
  Variable X_R : Name -> State -> Prop.

  (** All that the machine needs to know of plans (theory 4: why the loop never needs the solver). *)
  Record PlannerLaws : Prop := {
    consensus_below_horizon : K < T;
    fallback_is_total : incl (names sys) (fallback_order sys);
    certified_is_safe : forall x p, check sys x p = true -> X x /\ U (quantised sys (first sys p));
    certified_has_option : forall x p, check sys x p = true -> options p <> [];
    certified_options_distinct : forall x p, check sys x p = true -> NoDup (options p);
    shift_is_certified : forall x p x' Y K' T',
      check sys x p = true -> plant x (quantised sys (first sys p)) x' ->
      Y <> [] -> NoDup Y -> incl Y (options p) -> horizon p <= S T' -> K' <= T' ->
      K' < consensus p \/ (exists y, Y = [y]) ->
      check sys x' (shifted_plan sys {| plan := p; origin := x |} x' Y K' T') = true;
    horizon_zero_recovers : forall x p x' y,
      check sys x p = true -> plant x (quantised sys (first sys p)) x' -> In y (options p) -> horizon p = 0 ->
      X_R y x';
    exact_prediction : forall x u x', prediction_is_exact sys = true -> plant x u x' -> x' = next_state sys x u
  }.

  Hypothesis laws : PlannerLaws.

  (** * Requests and choices among plans *)

  Lemma mem_spec y Y : mem sys y Y = true <-> In y Y.
  Proof. unfold mem; destruct (in_dec _ y Y); split; auto; discriminate. Qed.

  Lemma subset_spec Y Z : subset sys Y Z = true <-> incl Y Z.
  Proof.
    unfold subset; rewrite forallb_forall; split; intros H y I; apply H in I.
    - apply mem_spec; exact I.
    - apply mem_spec; exact I.
  Qed.

  Lemma admits_spec r p : admits sys r p = true <->
    (if exact r then options p = wanted r else incl (options p) (wanted r))
    /\ consensus p = wanted_consensus r /\ horizon p = wanted_horizon r.
  Proof.
    unfold admits; rewrite !andb_true_iff, !Nat.eqb_eq.
    destruct (exact r).
    - destruct (list_eq_dec _ _ _); intuition congruence.
    - rewrite subset_spec; tauto.
  Qed.

  Lemma first_certified_sound ours x r ps p :
    first_certified sys ours x r ps = Some p -> In p ps /\ admits sys r p = true /\ check sys x p = true.
  Proof.
    intros H; apply find_some in H; destruct H as [I H]; rewrite !andb_true_iff in H; tauto.
  Qed.

  Lemma first_certified_complete ours x r ps p :
    In p ps -> admits sys r p = true -> ours || short_enough sys p = true -> check sys x p = true ->
    first_certified sys ours x r ps <> None.
  Proof.
    intros I A L C N; pose proof (find_none _ _ N _ I) as F; cbv beta in F; rewrite A, L, C in F; discriminate.
  Qed.

  (** The fallback policy is total on non-empty sets of options. *)
  Lemma fallback_is_an_option Y : Y <> [] -> incl Y (names sys) -> In (fallback sys Y) Y.
  Proof.
    intros N L; destruct Y as [|y Y]; [congruence|].
    assert (I : In y (filter (fun z => mem sys z (y :: Y)) (fallback_order sys))).
    { apply filter_In; split; [apply (fallback_is_total laws), L; left; reflexivity | apply mem_spec; left; reflexivity]. }
    unfold fallback; destruct (filter _ _) as [|z l] eqn:E; [destruct I|].
    assert (J : In z (filter (fun z => mem sys z (y :: Y)) (fallback_order sys))) by (rewrite E; left; reflexivity).
    apply filter_In in J; apply mem_spec; tauto.
  Qed.

  (** * The invariant *)

  (** The held plan is what its mode asks for (theory 3). *)
  Definition mode_fits (m : Mode Name) (p : Plan) : Prop :=
    match m with
    | Nominal _ => consensus p = K /\ horizon p = T
    | Waiting Y k _ _ => options p = Y /\ k <= K /\ consensus p = K - k /\ horizon p = T - k
    | Recovering y k => options p = [y] /\ consensus p = 0 /\ horizon p = T - k
    | Suspended _ _ => False
    end.

  Record holds_certified_plan (x : State) (s : MachineState State Input Name) : Prop := {
    held_certified : check sys x (plan (held s)) = true;
    held_from_here : origin (held s) = x;
    held_sent : sent s = quantised sys (first sys (plan (held s)));
    held_names : incl (options (plan (held s))) (names sys);
    held_fits_mode : mode_fits (mode s) (plan (held s))
  }.

  Record good_step (x : State) (r : StepResult State Input Name) : Prop := {
    good_state : holds_certified_plan x (after r);
    good_input : input r = sent (after r);
    good_flag : is_certified r = true
  }.

  Lemma finish_is_good t m x p trigger detector rows :
    check sys x p = true -> incl (options p) (names sys) -> mode_fits m p ->
    good_step x (finish sys t m {| plan := p; origin := x |} trigger detector rows (first sys p) true).
  Proof.
    intros C I F; unfold finish; destruct detector as [a|]; [destruct m; simpl in F|]; constructor; try reflexivity;
      constructor; simpl; auto; try tauto.
    destruct F; repeat split; lia.
  Qed.

  (** ** Every intent leads to a plan that the shifted plan answers *)

  Inductive sound_intent (s : MachineState State Input Name) : Intent Name -> Prop :=
  | intends_nominal y k rows :
      sound_intent s {| aim := Nominal _; request := start_request sys; name_if_suspended := y; intent_k := k;
                        intent_events := rows |}
  | intends_waiting Y k trigger kept y rows :
      k < K -> options (plan (held s)) = Y -> consensus (plan (held s)) = K - k -> horizon (plan (held s)) = T - k ->
      sound_intent s {| aim := Waiting Y (k + 1) trigger kept;
                        request := {| wanted := Y; exact := true; wanted_consensus := K - (k + 1);
                                      wanted_horizon := T - (k + 1) |};
                        name_if_suspended := y; intent_k := k + 1; intent_events := rows |}
  | intends_recovering y k rows :
      In y (options (plan (held s))) -> horizon (plan (held s)) <= S (T - k) ->
      sound_intent s (recover sys y k rows).

  Lemma intent_is_sound x s i : holds_certified_plan x s -> sound_intent s (intent sys s i).
  Proof.
    intros [C _ _ L F]; pose proof (certified_has_option laws C) as N.
    pose proof (fallback_is_an_option N L) as FB; pose proof (consensus_below_horizon laws) as KT.
    unfold intent; destruct (mode s) as [|Y k trigger kept|y k|y k]; simpl in F.
    - destruct F as [Fc Fh].
      destruct (is_missing i || commanded i);
        constructor; auto; rewrite Fh; lia.
    - destruct F as (FY & Fk & Fc & Fh).
      assert (R : forall y rows, In y Y -> sound_intent s (recover sys y (k + 1) rows)).
      { intros y rows I; constructor; [rewrite FY; exact I | rewrite Fh; lia]. }
      rewrite FY in FB; unfold after_waiting.
      destruct (counted_answer _ i) as [[t|t y|t]|];
        try (destruct (mem sys y Y) eqn:E; [apply mem_spec in E|]; apply R; auto; fail);
        try (apply R; auto; fail);
        (destruct (is_missing i || commanded i); [apply R; auto|]).
      + constructor.
      + destruct (Nat.leb_spec (K + 1) (k + 1)); [apply R; auto | constructor; auto; lia].
    - destruct F as (FY & Fc & Fh); constructor; [rewrite FY; left; reflexivity | rewrite Fh; lia].
    - destruct F.
  Qed.

  Lemma admitted_plan_fits_the_aim s n p :
    sound_intent s n -> incl (options (plan (held s))) (names sys) -> admits sys (request n) p = true ->
    incl (options p) (names sys) /\ mode_fits (aim n) p.
  Proof.
    intros SI L A; apply admits_spec in A; destruct SI as [y k rows|Y k tr kept y rows Hk HY Hc Hh|y k rows I H];
      simpl in *; destruct A as (AO & AC & AH); rewrite ?AO, ?AC, ?AH.
    - split; auto.
    - split; [rewrite <- HY; exact L | repeat split; lia].
    - split; [intros z [<-|[]]; apply L; exact I | auto].
  Qed.

  Lemma shifted_plan_answers_intent x x' s n :
    holds_certified_plan x s -> sound_intent s n -> plant x (sent s) x' ->
    exists p, In p (shifted_plans sys s x' (request n)) /\ admits sys (request n) p = true /\ check sys x' p = true.
  Proof.
    intros [C O E L F] SI P; rewrite E in P.
    pose proof (certified_has_option laws C) as N; pose proof (consensus_below_horizon laws) as KT.
    assert (H : held s = {| plan := plan (held s); origin := x |}) by (rewrite <- O; destruct (held s); reflexivity).
    assert (HT : horizon (plan (held s)) <= T) by (destruct (mode s); simpl in F; lia).
    assert (One : forall y K' T', In y (options (plan (held s))) -> horizon (plan (held s)) <= S T' -> K' <= T' ->
              check sys x' (shifted_plan sys (held s) x' [y] K' T') = true).
    { intros y K' T' I LT LK; rewrite H; apply (shift_is_certified laws C P); eauto.
      - discriminate.
      - repeat constructor; auto.
      - intros z [<-|[]]; exact I. }
    destruct SI as [y k rows|Y k tr kept y rows Hk HY Hc Hh|y k rows I LT]; unfold shifted_plans; simpl.
    - exists (shifted_plan sys (held s) x' [fallback sys (options (plan (held s)))] K T).
      pose proof (fallback_is_an_option N L) as FB; repeat split.
      + apply in_map_iff; eexists; split; [reflexivity|]; apply filter_In; split.
        * apply (fallback_is_total laws), L, FB.
        * apply mem_spec; exact FB.
      + apply admits_spec; simpl; unfold shifted_plan; rewrite shifted_options; repeat split; auto.
        intros z [<-|[]]; apply L, FB.
      + apply One; auto; lia.
    - eexists; split; [left; reflexivity|]; split.
      + apply admits_spec; simpl; unfold shifted_plan; rewrite shifted_options; auto.
      + rewrite H; apply (shift_is_certified laws C P); try lia.
        * rewrite <- HY; exact N.
        * rewrite <- HY; apply (certified_options_distinct laws C).
        * rewrite HY; apply incl_refl.
    - eexists; split; [left; reflexivity|]; split.
      + apply admits_spec; simpl; unfold shifted_plan; rewrite shifted_options; auto.
      + apply One; auto; lia.
  Qed.

  (** ** One step keeps the invariant *)

  (** What the loop may read about the state: the state itself, or nothing when the prediction is exact. *)
  Definition reads_state (i : StepInput State Input Name) (x : State) : Prop :=
    measurement i = Some x \/ (measurement i = None /\ prediction_is_exact sys = true).

  Lemma proceed_is_good x x' s i rows :
    holds_certified_plan x s -> plant x (sent s) x' -> overridden i = false ->
    exists p rows',
      proceed sys s i (intent sys s i) x' true rows
      = finish sys (step s + 1) (aim (intent sys s i)) {| plan := p; origin := x' |} (next_trigger s)
          (fst (detector_after s (intent sys s i) i)) rows' (first sys p) true
      /\ check sys x' p = true /\ incl (options p) (names sys) /\ mode_fits (aim (intent sys s i)) p.
  Proof.
    intros G P NO; pose proof (intent_is_sound i G) as SI.
    pose proof (fun p => @admitted_plan_fits_the_aim s (intent sys s i) p SI (held_names G)) as Fits.
    unfold proceed; rewrite NO; simpl.
    destruct (detector_after s (intent sys s i) i) as [d again].
    destruct (first_certified sys false x' (request (intent sys s i)) (candidates i)) as [p|] eqn:E.
    - apply first_certified_sound in E; destruct E as (_ & A & Ck); destruct (Fits p A).
      eauto 10.
    - destruct (shifted_plan_answers_intent G SI P) as (q & I & A & Ck).
      pose proof (first_certified_complete (ours := true) I A eq_refl Ck) as NN.
      destruct (first_certified sys true x' (request (intent sys s i)) (shifted_plans sys s x' (request (intent sys s i)))) as [p|] eqn:E2; [|congruence].
      apply first_certified_sound in E2; destruct E2 as (_ & A2 & Ck2); destruct (Fits p A2).
      eauto 10.
  Qed.

  (** Every step ends in [finish] with a plan that was certified in this very step, at the state of this step. *)
  Lemma transition_certifies x x' s i :
    holds_certified_plan x s -> plant x (sent s) x' -> reads_state i x' -> overridden i = false ->
    exists p m detector rows,
      transition sys s i
      = finish sys (step s + 1) m {| plan := p; origin := x' |} (next_trigger s) detector rows (first sys p) true
      /\ (m = aim (intent sys s i) /\ detector = fst (detector_after s (intent sys s i) i)
          \/ m = Nominal _ /\ resuming i = true /\ may_resume (mode s) = true)
      /\ check sys x' p = true /\ incl (options p) (names sys) /\ mode_fits m p.
  Proof.
    intros G P R NO.
    assert (CS : current_state sys s i = (x', true, [])).
    { assert (NS : was_suspended (mode s) = false).
      { pose proof (held_fits_mode G) as F; destruct (mode s); try reflexivity; destruct F. }
      unfold current_state; rewrite NS; destruct R as [->|[-> E]]; [reflexivity|].
      rewrite (held_from_here G), <- (exact_prediction laws E P), E; reflexivity. }
    assert (Go : forall rows, exists p m detector rows',
      proceed sys s i (intent sys s i) x' true rows
      = finish sys (step s + 1) m {| plan := p; origin := x' |} (next_trigger s) detector rows' (first sys p) true
      /\ (m = aim (intent sys s i) /\ detector = fst (detector_after s (intent sys s i) i)
          \/ m = Nominal _ /\ resuming i = true /\ may_resume (mode s) = true)
      /\ check sys x' p = true /\ incl (options p) (names sys) /\ mode_fits m p).
    { intros rows; destruct (proceed_is_good rows G P NO) as (p & rows' & E & Rest).
      do 4 eexists; split; [exact E | tauto]. }
    unfold transition; rewrite CS.
    destruct (resuming i && may_resume (mode s) && negb (is_missing i) && true) eqn:B; [|apply Go].
    destruct (first_certified sys false x' (start_request sys) (candidates i)) as [p|] eqn:E; [|apply Go].
    apply first_certified_sound in E; destruct E as (_ & A & Ck); apply admits_spec in A; simpl in A.
    do 2 (apply andb_true_iff in B; destruct B as [B _]); apply andb_true_iff in B.
    exists p, (Nominal _); do 2 eexists; split; [reflexivity|]; simpl; tauto.
  Qed.

  Lemma transition_is_good x x' s i :
    holds_certified_plan x s -> plant x (sent s) x' -> reads_state i x' -> overridden i = false ->
    good_step x' (transition sys s i).
  Proof.
    intros G P R NO; destruct (transition_certifies G P R NO) as (p & m & d & rows & -> & _ & C & I & F).
    apply finish_is_good; auto.
  Qed.

  (** * Executions *)

  Variable env : nat -> StepInput State Input Name.      (* measurements, answers, candidates, alarms, operator *)
  Variable x : nat -> State.                            (* x_t *)
  Variable r : nat -> StepResult State Input Name.      (* what step t yields; [input (r t)] is u_t *)

  (** The closed loop of Eq. (1) and the completed Algorithm 1: [env] is arbitrary but for the measurements. *)
  Record execution : Prop := {
    started : start sys (env 0) = Some (r 0);
    proceeds : forall t, r (S t) = transition sys (after (r t)) (env (S t));
    plant_moves : forall t, plant (x t) (input (r t)) (x (S t));
    measured_first : measurement (env 0) = Some (x 0);
    measured_later : forall t, reads_state (env (S t)) (x (S t))
  }.

  Hypothesis runs : execution.
  (** An operator's own input leaves the guarantee (theory 3). *)
  Hypothesis never_overridden : forall t, overridden (env (S t)) = false.

  Definition mode_at (t : nat) : Mode Name := mode (after (r t)).
  Definition plan_at (t : nat) : Plan := plan (held (after (r t))).

  Theorem every_step_is_certified t : good_step (x t) (r t).
  Proof.
    induction t as [|t IH].
    - pose proof (started runs) as H; unfold start in H; rewrite (measured_first runs) in H.
      destruct (first_state_ok sys (x 0)); [|discriminate]; destruct (first_certified _ _ _ _ _) as [p|] eqn:E; [|discriminate]; injection H as <-.
      apply first_certified_sound in E; destruct E as (_ & A & C); apply admits_spec in A; simpl in A.
      apply finish_is_good; simpl; tauto.
    - rewrite (proceeds runs); destruct IH as [G E _].
      apply (transition_is_good (x := x t)); auto using measured_later.
      rewrite <- E; apply (plant_moves runs).
  Qed.

  Lemma holds_at t : holds_certified_plan (x t) (after (r t)).
  Proof. apply every_step_is_certified. Qed.

  (** Claim 1. *)
  Theorem claim_1_states_and_inputs_are_safe t : X (x t) /\ U (input (r t)).
  Proof.
    destruct (every_step_is_certified t) as [[C O E _ _] I _].
    rewrite I, E; apply (certified_is_safe laws C).
  Qed.

  (** Claim 2: the plan in force at t was certified at x_t, for what the mode asks, and has an option. *)
  Theorem claim_2_a_certified_plan_is_held t :
    check sys (x t) (plan_at t) = true /\ mode_fits (mode_at t) (plan_at t)
    /\ exists y, In y (options (plan_at t)) /\ In y (names sys).
  Proof.
    destruct (holds_at t) as [C _ _ L F]; repeat split; auto.
    pose proof (certified_has_option laws C) as N; unfold plan_at.
    destruct (options (plan (held (after (r t))))) as [|y Y]; [congruence|].
    exists y; split; [|apply L]; left; reflexivity.
  Qed.

  (** No execution is ever suspended. *)
  Corollary never_suspended t y k : mode_at t <> Suspended y k.
  Proof. destruct (claim_2_a_certified_plan_is_held t) as (_ & F & _); intros E; rewrite E in F; exact F. Qed.

  Definition not_resumed_after (t : nat) : Prop := forall s, t < s -> resuming (env s) = false.

  Lemma mode_of_finish t m h tr d rows u ok :
    m <> Nominal _ -> (forall Y k g kept, m <> Waiting Y k g kept) ->
    mode (after (finish sys t m h tr d rows u ok)) = m.
  Proof. intros N W; unfold finish; destruct d; [destruct m|]; simpl; congruence. Qed.

  (** The step after t in terms of its intent. *)
  Lemma next_step t :
    let n := intent sys (after (r t)) (env (S t)) in
    exists p m d rows,
      r (S t) = finish sys (step (after (r t)) + 1) m {| plan := p; origin := x (S t) |} (next_trigger (after (r t)))
                  d rows (first sys p) true
      /\ (m = aim n /\ d = fst (detector_after (after (r t)) n (env (S t)))
          \/ m = Nominal _ /\ resuming (env (S t)) = true /\ may_resume (mode_at t) = true).
  Proof.
    destruct (every_step_is_certified t) as [G E _].
    assert (P : plant (x t) (sent (after (r t))) (x (S t))) by (rewrite <- E; apply (plant_moves runs)).
    destruct (transition_certifies G P (measured_later runs t) (never_overridden t)) as (p & m & d & rows & TE & M & _).
    exists p, m, d, rows; rewrite (proceeds runs); auto.
  Qed.

  Lemma next_mode t :
    exists h tr d rows u, mode_at (S t) = mode (after (finish sys (step (after (r t)) + 1)
        (aim (intent sys (after (r t)) (env (S t)))) h tr d rows u true))
    \/ (mode_at (S t) = mode (after (finish sys (step (after (r t)) + 1) (Nominal _) h tr d rows u true))
        /\ resuming (env (S t)) = true /\ may_resume (mode_at t) = true).
  Proof.
    destruct (next_step t) as (p & m & d & rows & E & M).
    unfold mode_at; rewrite E; do 5 eexists; destruct M as [[-> _]|[-> M]]; [left | right; split]; eauto.
  Qed.

  Lemma aim_of_recovering s i y k : mode s = Recovering y k -> aim (intent sys s i) = Recovering y (k + 1).
  Proof. intros M; unfold intent; rewrite M; reflexivity. Qed.

  (** A decision stands until the operator resumes. *)
  Lemma recovering_goes_on t y k :
    mode_at t = Recovering y k -> resuming (env (S t)) = false -> mode_at (S t) = Recovering y (k + 1).
  Proof.
    intros M NR; destruct (next_mode t) as (h & tr & d & rows & u & [E|(_ & R & _)]); [|congruence].
    rewrite E, (aim_of_recovering (env (S t)) M); apply mode_of_finish; discriminate.
  Qed.

  Lemma recovering_for_ever t y k j :
    mode_at t = Recovering y k -> not_resumed_after t -> mode_at (t + j) = Recovering y (k + j).
  Proof.
    intros M NR; induction j as [|j IH]; [rewrite !Nat.add_0_r; exact M|].
    rewrite !Nat.add_succ_r; rewrite (recovering_goes_on IH) by (apply NR; lia); f_equal; lia.
  Qed.

  (** Claim 3 for whoever chose y (the reasoner, the fallback policy, the operator's hold): with k steps since
      t_anom = t - k, the state is in X_R^y from t_anom + T + 1 on. *)
  Theorem claim_3_recovering_arrives_and_stays t y k :
    mode_at t = Recovering y k -> not_resumed_after t ->
    forall s, t < s -> t + T + 1 <= s + k -> X_R y (x s).
  Proof.
    intros M NR s L1 L2; destruct s as [|s]; [lia|].
    pose proof (recovering_for_ever (s - t) M NR) as M'; replace (t + (s - t)) with s in M' by lia.
    destruct (every_step_is_certified s) as [[C _ E _ F] I _].
    pose proof (plant_moves runs s) as P; rewrite I, E in P.
    unfold mode_at in M'; rewrite M' in F; simpl in F; destruct F as (FY & _ & FH).
    apply (horizon_zero_recovers laws C P); [rewrite FY; left; reflexivity | lia].
  Qed.

  (** ** From the alarm to the decision *)

  (** The detector fires in a nominal step: the reasoner is asked about the options of the plan just certified. *)
  Definition anomaly_at (t : nat) (Y : list Name) (trigger : nat) : Prop :=
    exists kept, mode_at t = Waiting Y 0 trigger kept.

  Definition still_waiting_at (t k : nat) (Y : list Name) (trigger : nat) : Prop :=
    exists kept, mode_at t = Waiting Y k trigger kept.

  (** How the question of a waiting step is settled in step t. *)
  Definition cleared_at (t trigger : nat) : Prop := answer (env t) = Some (Clear Name trigger).

  Lemma mode_of_waiting_finish t Y k trigger kept h tr d rows u ok :
    exists kept', mode (after (finish sys t (Waiting Y k trigger kept) h tr d rows u ok)) = Waiting Y k trigger kept'.
  Proof. unfold finish; destruct d; simpl; eauto. Qed.

  Lemma aim_after_waiting Y k trigger kept i a rows :
    aim (after_waiting sys Y k trigger kept i a rows) =
    match a with
    | Some (Choice _ y) => if mem sys y Y then Recovering y k else Recovering (fallback sys Y) k
    | Some (RejectedAnswer _ _) => Recovering (fallback sys Y) k
    | Some (Clear _ _) => if is_missing i || commanded i then Recovering (fallback sys Y) k else Nominal _
    | None => if (is_missing i || commanded i) || (K + 1 <=? k) then Recovering (fallback sys Y) k
              else Waiting Y k trigger kept
    end.
  Proof.
    unfold after_waiting; destruct a as [[t|t y|t]|]; simpl; try reflexivity.
    - destruct (is_missing i || commanded i); reflexivity.
    - destruct (mem sys y Y); reflexivity.
    - destruct (is_missing i || commanded i), (K + 1 <=? k); reflexivity.
  Qed.

  (** In every mode k counts the steps since the alarm. *)
  Lemma waiting_since_the_alarm t Y k trigger :
    still_waiting_at t k Y trigger -> k <= t /\ anomaly_at (t - k) Y trigger.
  Proof.
    revert k; induction t as [|t IH]; intros k [kept M].
    - pose proof (started runs) as H; unfold start in H; rewrite (measured_first runs) in H.
      destruct (first_state_ok sys (x 0)); [|discriminate]; destruct (first_certified _ _ _ _ _) as [p|]; [|discriminate]; injection H as H.
      assert (k = 0) as ->.
      { unfold mode_at in M; rewrite <- H in M; unfold finish in M; destruct (alarm (env 0)); simpl in M; congruence. }
      split; [lia | exists kept; exact M].
    - destruct k as [|k]; [split; [lia | exists kept; rewrite Nat.sub_0_r; exact M]|].
      assert (W : still_waiting_at t k Y trigger).
      { destruct (next_mode t) as (h & tr & d & rows & u & [E|(E & _)]); rewrite M in E.
        - pose proof (intent_is_sound (env (S t)) (holds_at t)) as SI.
          unfold intent in E; fold (mode_at t) in E.
          destruct (mode_at t) as [|Y' k' tr' kept'|y' k'|y' k'] eqn:M'.
          + destruct (_ || _); unfold finish in E; destruct d; simpl in E; congruence.
          + rewrite aim_after_waiting in E.
            assert (Dec : forall y, mode (after (finish sys (step (after (r t)) + 1) (Recovering y (k' + 1)) h tr d rows u true))
                     = Recovering y (k' + 1)) by (intros; apply mode_of_finish; discriminate).
            destruct (counted_answer _ _) as [[g|g y|g]|].
            * destruct (_ || _); [rewrite Dec in E; discriminate|].
              unfold finish in E; destruct d; simpl in E; congruence.
            * destruct (mem _ _ _); rewrite Dec in E; discriminate.
            * rewrite Dec in E; discriminate.
            * destruct ((_ || _) || _); [rewrite Dec in E; discriminate|].
              exists kept'; unfold finish in E; destruct d; simpl in E; injection E as -> E -> _; rewrite M';
                f_equal; lia.
          + rewrite mode_of_finish in E; discriminate.
          + rewrite mode_of_finish in E; discriminate.
        - unfold finish in E; destruct d; simpl in E; congruence. }
      destruct (IH k W) as [L A]; split; [lia|].
      replace (S t - S k) with (t - k) by lia; exact A.
  Qed.

  (** The detector fires in a nominal step: the question is put in that very step, about the plan just certified. *)
  Theorem alarm_starts_waiting t a :
    mode_at t = Nominal _ -> alarm (env (S t)) = Some a -> holding (env (S t)) = false -> is_missing (env (S t)) = false ->
    exists trigger, anomaly_at (S t) (options (plan_at (S t))) trigger
    /\ question (r (S t)) = Some {| asked_trigger := trigger; asked_observation := observation a;
                                   asked_options := options (plan_at (S t)) |}.
  Proof.
    intros M A H Mi.
    assert (Q : aim (intent sys (after (r t)) (env (S t))) = Nominal _).
    { unfold intent; unfold mode_at in M; unfold commanded; rewrite M, H, Mi, (never_overridden t); reflexivity. }
    destruct (next_step t) as (p & m & d & rows & D & [[-> ->]|(_ & _ & B)]).
    - unfold mode_at in M; rewrite Q in D; unfold detector_after in D; rewrite M, A in D; simpl in D.
      exists (next_trigger (after (r t))); unfold anomaly_at, mode_at, plan_at; rewrite D; simpl; eauto.
    - rewrite M in B; discriminate.
  Qed.

  Lemma next_mode_after_waiting t Y k trigger kept :
    mode_at t = Waiting Y k trigger kept ->
    let i := env (S t) in
    let m := aim (after_waiting sys Y (k + 1) trigger kept i (counted_answer (mode_at t) i) []) in
    exists h tr d rows u, mode_at (S t) = mode (after (finish sys (step (after (r t)) + 1) m h tr d rows u true)).
  Proof.
    intros M; destruct (next_mode t) as (h & tr & d & rows & u & [E|(_ & _ & R)]); [|rewrite M in R; discriminate].
    do 5 eexists; rewrite E; unfold intent; unfold mode_at in M; rewrite M, !aim_after_waiting.
    unfold mode_at; rewrite M; reflexivity.
  Qed.

  Lemma counted_answer_is_answer (m : Mode Name) (i : StepInput State Input Name) a : counted_answer m i = Some a ->
    exists Y k trigger kept, m = Waiting Y k trigger kept /\ answer i = Some a /\ trigger_of a = trigger.
  Proof.
    unfold counted_answer; destruct m; try discriminate; destruct (answer i) as [b|]; try discriminate.
    destruct (Nat.eqb_spec (trigger_of b) trigger); [|discriminate]; intros [= <-]; do 4 eexists; eauto.
  Qed.

  (** One step of waiting: decided for an option, cleared, or still waiting before the deadline. *)
  Lemma waiting_step t Y k trigger :
    still_waiting_at t k Y trigger ->
    (exists y, In y Y /\ mode_at (S t) = Recovering y (k + 1)) \/ cleared_at (S t) trigger
    \/ (k + 1 <= K /\ still_waiting_at (S t) (k + 1) Y trigger).
  Proof.
    intros [kept M]; destruct (next_mode_after_waiting M) as (h & tr & d & rows & u & E).
    destruct (holds_at t) as [C _ _ L F]; fold (mode_at t) in F; rewrite M in F; simpl in F.
    destruct F as (FY & Fk & _ & _).
    pose proof (fallback_is_an_option (certified_has_option laws C) L) as FB; rewrite FY in FB.
    assert (Rec : forall y, mode (after (finish sys (step (after (r t)) + 1) (Recovering y (k + 1)) h tr d rows u true))
                   = Recovering y (k + 1)) by (intros; apply mode_of_finish; discriminate).
    rewrite aim_after_waiting in E.
    destruct (counted_answer (mode_at t) (env (S t))) as [[g|g y|g]|] eqn:A.
    - right; left; apply counted_answer_is_answer in A; destruct A as (Y' & k' & g' & kept' & M' & A & G).
      rewrite M in M'; injection M' as <- <- <- <-; simpl in G; unfold cleared_at; congruence.
    - left; destruct (mem sys y Y) eqn:I; rewrite Rec in E; [apply mem_spec in I|]; eauto.
    - left; rewrite Rec in E; eauto.
    - destruct (_ || _ || _) eqn:B; [left; rewrite Rec in E; eauto|right; right].
      apply orb_false_iff in B; destruct B as [_ B]; apply Nat.leb_gt in B.
      split; [lia|]; unfold still_waiting_at; rewrite E; apply mode_of_waiting_finish.
  Qed.

  (** Claim 4, the bounded time of the decision: whatever the reasoner does, at some step between
      t_anom + 1 and t_anom + K + 1 its answer 0 is read or one of the options is engaged. *)
  Theorem claim_4_decided_by_the_deadline t_anom Y trigger :
    anomaly_at t_anom Y trigger ->
    exists j, 1 <= j <= K + 1 /\
      ((exists y, In y Y /\ mode_at (t_anom + j) = Recovering y j) \/ cleared_at (t_anom + j) trigger).
  Proof.
    intros A.
    assert (G : forall n k, n + k = K -> still_waiting_at (t_anom + k) k Y trigger ->
      exists j, 1 <= j <= K + 1 /\
        ((exists y, In y Y /\ mode_at (t_anom + j) = Recovering y j) \/ cleared_at (t_anom + j) trigger)).
    { induction n as [|n IH]; intros k E W; pose proof (waiting_step W) as St; rewrite <- Nat.add_succ_r in St;
        destruct St as [D|[D|[Lk W']]]; rewrite ?Nat.add_1_r in *.
      - exists (S k); split; [lia | left; exact D].
      - exists (S k); split; [lia | right; exact D].
      - lia.
      - exists (S k); split; [lia | left; exact D].
      - exists (S k); split; [lia | right; exact D].
      - destruct (IH (S k)) as (j & Lj & D); [lia | exact W' | exists j; split; [lia | exact D]]. }
    apply (G K 0); [lia | rewrite Nat.add_0_r; exact A].
  Qed.

  (** A choice of the reasoner, to the open question and within Y, is carried out in the step that reads it. *)
  Theorem choice_is_engaged t k Y trigger y :
    still_waiting_at t k Y trigger -> answer (env (S t)) = Some (Choice trigger y) -> In y Y ->
    mode_at (S t) = Recovering y (k + 1).
  Proof.
    intros [kept M] A I; destruct (next_mode_after_waiting M) as (h & tr & d & rows & u & E).
    rewrite aim_after_waiting, M in E; unfold counted_answer in E; rewrite A in E; simpl in E.
    rewrite Nat.eqb_refl in E; apply mem_spec in I; rewrite I in E; rewrite E; apply mode_of_finish; discriminate.
  Qed.

  (** An answer that names no option of Y, or cannot be read, makes the fallback policy choose at once. *)
  Theorem rejected_answer_engages_fallback t k Y trigger a :
    still_waiting_at t k Y trigger -> answer (env (S t)) = Some a -> trigger_of a = trigger ->
    (forall g, a <> Clear _ g) -> (forall g y, a = Choice g y -> ~ In y Y) ->
    mode_at (S t) = Recovering (fallback sys Y) (k + 1).
  Proof.
    intros [kept M] A G NC NI; destruct (next_mode_after_waiting M) as (h & tr & d & rows & u & E).
    rewrite aim_after_waiting, M in E; unfold counted_answer in E; rewrite A, G, Nat.eqb_refl in E.
    destruct a as [g|g y|g]; [destruct (NC g eq_refl)| |].
    - destruct (mem sys y Y) eqn:B; [apply mem_spec in B; destruct (NI g y eq_refl B)|].
      rewrite E; apply mode_of_finish; discriminate.
    - rewrite E; apply mode_of_finish; discriminate.
  Qed.

  (** An answer to another question changes nothing: the step's mode is that of a step without an answer. *)
  Theorem late_answer_is_ignored s i a :
    (forall Y k kept, mode s <> Waiting Y k (trigger_of a) kept) -> answer i = Some a ->
    aim (intent sys s i) = aim (intent sys s {| measurement := measurement i; answer := None; candidates := candidates i;
                                               alarm := alarm i; operator := operator i |}).
  Proof.
    intros N A; unfold intent; destruct (mode s) as [|Y k tr kept|y k|y k] eqn:M; try reflexivity.
    - unfold commanded, holding, is_missing, overridden; simpl.
      destruct (operator i) as [[]|], (measurement i); reflexivity.
    - rewrite !aim_after_waiting; unfold counted_answer; rewrite A; simpl.
      destruct (Nat.eqb_spec (trigger_of a) tr) as [<-|]; [destruct (N Y k kept eq_refl) | reflexivity].
  Qed.

  (** Claim 3 as the paper states it: the reasoner that was triggered at t_anom names y, and the answer is read
      j <= K + 1 steps later, while the question is open. *)
  Theorem claim_3_chosen_intervention t_anom Y trigger j y :
    anomaly_at t_anom Y trigger -> 1 <= j ->
    still_waiting_at (t_anom + (j - 1)) (j - 1) Y trigger ->
    answer (env (t_anom + j)) = Some (Choice trigger y) -> In y Y ->
    not_resumed_after (t_anom + j) ->
    forall t, t_anom + T + 1 <= t -> X_R y (x t).
  Proof.
    intros A L W Ans I NR t Lt.
    replace (t_anom + j) with (S (t_anom + (j - 1))) in * by lia.
    pose proof (choice_is_engaged W Ans I) as M.
    destruct W as [kept W]; destruct (holds_at (t_anom + (j - 1))) as [_ _ _ _ F].
    fold (mode_at (t_anom + (j - 1))) in F; rewrite W in F; simpl in F; destruct F as (_ & Fk & _ & _).
    pose proof (consensus_below_horizon laws).
    apply (claim_3_recovering_arrives_and_stays M NR); lia.
  Qed.

  (** Claim 3 without a condition on the reasoner: unless it clears the anomaly in time, some option of
      Y_{t_anom} is reached. *)
  Theorem claim_3_whatever_the_reasoner_says t_anom Y trigger :
    anomaly_at t_anom Y trigger ->
    (forall t, t_anom < t -> ~ cleared_at t trigger) -> not_resumed_after t_anom ->
    exists y, In y Y /\ forall t, t_anom + T + 1 <= t -> X_R y (x t).
  Proof.
    intros A NC NR; destruct (claim_4_decided_by_the_deadline A) as (j & Lj & [(y & I & M)|D]).
    - exists y; split; [exact I|]; intros t Lt; pose proof (consensus_below_horizon laws).
      apply (claim_3_recovering_arrives_and_stays M); [intros s Ls; apply NR; lia | lia | lia].
    - destruct (NC (t_anom + j)); [lia | exact D].
  Qed.
End Properties.

(** Claim 4, totality: a step is a function, so whatever it reads it yields one input; and that input is in U
    even where the guarantee is lost (no certified plan, an operator's own input), because [projected] leads
    into U. *)
Theorem claim_4_every_step_yields_an_admissible_input
    (State Input Name : Type) (sys : System State Input Name) (U : Input -> Prop) :
  (forall u, U (quantised sys (projected sys u))) ->
  (forall x p, check sys x p = true -> U (quantised sys (first sys p))) ->
  forall s i, exists u, input (transition sys s i) = u /\ U u.
Proof.
  intros HP HC s i; eexists; split; [reflexivity|].
  assert (Fin : forall t m h tr d rows u ok, input (finish sys t m h tr d rows u ok) = quantised sys u).
  { intros; unfold finish; destruct d; [destruct m|]; reflexivity. }
  assert (Pro : forall n x known rows, U (input (proceed sys s i n x known rows))).
  { intros n x known rows; unfold proceed, suspend; destruct (detector_after s n i).
    destruct (known && _); [|rewrite Fin; apply HP].
    destruct (first_certified sys false x (request n) (candidates i)) as [p|] eqn:E.
    - rewrite Fin; apply first_certified_sound in E; apply (HC x), E.
    - destruct (first_certified sys true x (request n) (shifted_plans sys s x (request n))) as [p|] eqn:E2.
      + rewrite Fin; apply first_certified_sound in E2; apply (HC x), E2.
      + rewrite Fin; apply HP. }
  unfold transition; destruct (current_state sys s i) as [[x known] obstacle].
  destruct (_ && known); [|apply Pro].
  destruct (first_certified sys false x (start_request sys) (candidates i)) as [p|] eqn:E; [|apply Pro].
  rewrite Fin; apply first_certified_sound in E; apply (HC x), E.
Qed.
