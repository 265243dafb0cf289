(** Theorem 1 of the paper, for the completed Algorithm 1 and an arbitrary model f (theory 2-4).

    x_{t+1} = f(x_t, u_t), arbitrary types of states, inputs and names, arbitrary sets X, U and X_R^y with laws
    kappa_y. The solver (candidate plans), the detector, the reasoner, the operator's holds and resumes are
    arbitrary streams: part of [env]. kernel: machine.start, machine.transition, plan.check_plan. *)

From Coq Require Import List Arith Bool Lia.
From Aesop Require Import Plans Machine MachineProperties.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

Section Theorem1.
  Variables State Input Name : Type.
  Variable f : State -> Input -> State.                (* Eq. (1) *)
  Variable X : State -> Prop.
  Variable U : Input -> Prop.
  Variable X_R : Name -> State -> Prop.
  Variable kappa : Name -> State -> Input.

  (** Definition 1, with the law that the paper asks to exist. kernel: invariance.check_recovery_set. *)
  Definition control_invariant : Prop :=
    forall y z, X_R y z -> X z /\ U (kappa y z) /\ X_R y (f z (kappa y z)).

  (** Eq. (3) with constant sets. *)
  Definition feasible : State -> Plan Input Name -> Prop :=
    certified f (fun _ => X) (fun _ => U) (fun y _ => X_R y).

  Variable name_eq_dec : forall a b : Name, {a = b} + {a <> b}.
  Variables names fallback_order : list Name.
  Variables K T : nat.
  Variable check : State -> Plan Input Name -> bool.   (* a decision procedure for Eq. (3) *)
  Variable short_enough : Plan Input Name -> bool.
  Variable projected : Input -> Input.
  Variable first_state_ok : State -> bool.
  Variable default_input : Input.
  Variable default_name : Name.

  (** The algorithm without a disturbance: nothing to correct, nothing to round, predictions are exact. *)
  Definition algorithm : System State Input Name := {|
    Machine.name_eq_dec := name_eq_dec;
    Machine.names := names;
    Machine.fallback_order := fallback_order;
    full_horizon := T;
    full_consensus := K;
    next_state := f;
    law := kappa;
    corrected := fun _ _ us => us;
    Machine.check := check;
    Machine.short_enough := short_enough;
    quantised := fun u => u;
    Machine.projected := projected;
    Machine.first_state_ok := first_state_ok;
    prediction_is_exact := true;
    Machine.default_input := default_input;
    Machine.default_name := default_name
  |}.

  Definition plant (x : State) (u : Input) (x' : State) : Prop := x' = f x u.

  Hypothesis invariant : control_invariant.
  Hypothesis K_below_T : K < T.
  Hypothesis policy_is_total : incl names fallback_order.
  Hypothesis check_decides : forall x p, check x p = true <-> feasible x p.

  Lemma law_keeps : law_keeps_recovery_set f (fun _ => X) (fun _ => U) (fun y _ => X_R y) kappa.
  Proof. intros y k z H; apply invariant, H. Qed.

  Lemma nothing_to_correct :
    correction_works f (fun _ => X) (fun _ => U) (fun y _ => X_R y) (fun _ _ us => us) plant (fun u => u).
  Proof. constructor; unfold plant; intros; subst; auto. Qed.

  Lemma planner_laws : PlannerLaws algorithm plant X U X_R.
  Proof.
    constructor; simpl; auto.
    - intros x p C; apply check_decides in C; apply (certified_state_admissible default_input C).
    - intros x p C; apply check_decides in C; unfold options; destruct (branches p) eqn:E.
      + destruct (some_option C E).
      + discriminate.
    - intros x p C; apply check_decides in C; apply (options_distinct C).
    - intros x p x' Y K' T' C P; intros; apply check_decides in C; apply check_decides.
      apply (shifted_plan_certified law_keeps name_eq_dec nothing_to_correct C P); auto.
    - intros x p x' y C P I H; apply check_decides in C.
      exact (horizon_zero_arrives name_eq_dec nothing_to_correct C P I H).
  Qed.

  Section Execution.
    Variable env : nat -> StepInput State Input Name.
    Variable x : nat -> State.
    Variable r : nat -> StepResult State Input Name.
    Hypothesis runs : execution algorithm plant env x r.
    Hypothesis never_overridden : forall t, overridden (env (S t)) = false.

    Notation u t := (input (r t)).
    Notation anomaly := (anomaly_at r).
    Notation waiting := (still_waiting_at r).

    (** Claim 1: x_t in X and u_t in U for all t. *)
    Theorem Theorem_1_claim_1 : forall t, X (x t) /\ U (u t).
    Proof. exact (claim_1_states_and_inputs_are_safe planner_laws runs never_overridden). Qed.

    (** Claim 2, as in the paper: at every t there is a y for which Eq. (3) is feasible with the full K and T. *)
    Theorem Theorem_1_claim_2 :
      forall t, exists y p, In y names /\ options p = [y] /\ consensus p = K /\ horizon p = T /\ feasible (x t) p.
    Proof.
      intros t.
      destruct (claim_2_a_certified_plan_is_held planner_laws runs never_overridden t) as (C & F & y & Iy & In_y).
      apply check_decides in C.
      exists y, (kept_and_lengthened f kappa name_eq_dec (plan_at r t) (x t) y K T).
      split; [exact In_y|]; do 3 (split; [reflexivity|]).
      apply (lengthened_plan_certified law_keeps name_eq_dec C Iy); [|lia].
      destruct (mode_at r t); simpl in F; lia.
    Qed.

    (** Claim 2, for the plan in force: it is feasible and is what the mode asks for. *)
    Theorem Theorem_1_claim_2_plan_in_force :
      forall t, feasible (x t) (plan_at r t) /\ mode_fits algorithm (mode_at r t) (plan_at r t).
    Proof.
      intros t; destruct (claim_2_a_certified_plan_is_held planner_laws runs never_overridden t) as (C & F & _).
      split; [apply check_decides, C | exact F].
    Qed.

    (** Claim 3: the reasoner triggered at t_anom names y in Y_{t_anom}; its answer is read in time, j steps later,
        and the operator does not resume nominal operation afterwards. *)
    Theorem Theorem_1_claim_3 t_anom Y trigger j y :
      anomaly t_anom Y trigger -> 1 <= j -> waiting (t_anom + (j - 1)) (j - 1) Y trigger ->
      answer (env (t_anom + j)) = Some (Choice trigger y) -> In y Y -> not_resumed_after env (t_anom + j) ->
      forall t, t_anom + T + 1 <= t -> X_R y (x t).
    Proof. exact (@claim_3_chosen_intervention _ _ _ _ _ _ _ _ planner_laws _ _ _ runs never_overridden t_anom Y trigger j y). Qed.

    (** Claim 3 for whoever chose y: k steps after t_anom = t - k the mode is Recovering y. *)
    Theorem Theorem_1_claim_3_any_decision t k y :
      mode_at r t = Recovering y k -> not_resumed_after env t ->
      forall s, t < s -> (t + T + 1 <= s + k) -> X_R y (x s).
    Proof. exact (@claim_3_recovering_arrives_and_stays _ _ _ _ _ _ _ _ planner_laws _ _ _ runs never_overridden t y k). Qed.

    (** Claim 3 without a word about the reasoner: if it never clears the anomaly, some option is reached. *)
    Theorem Theorem_1_claim_3_silent_reasoner t_anom Y trigger :
      anomaly t_anom Y trigger -> (forall t, t_anom < t -> ~ cleared_at env t trigger) -> not_resumed_after env t_anom ->
      exists y, In y Y /\ forall t, t_anom + T + 1 <= t -> X_R y (x t).
    Proof. exact (@claim_3_whatever_the_reasoner_says _ _ _ _ _ _ _ _ planner_laws _ _ _ runs never_overridden t_anom Y trigger). Qed.

    (** Claim 4, the decision is made in bounded time. *)
    Theorem Theorem_1_claim_4_decision t_anom Y trigger :
      anomaly t_anom Y trigger ->
      exists j, 1 <= j <= K + 1 /\
        ((exists y, In y Y /\ mode_at r (t_anom + j) = Recovering y j) \/ cleared_at env (t_anom + j) trigger).
    Proof. exact (@claim_4_decided_by_the_deadline _ _ _ _ _ _ _ _ planner_laws _ _ _ runs never_overridden t_anom Y trigger). Qed.

    (** No step is ever uncertified. *)
    Theorem Theorem_1_never_suspended t y k : mode_at r t <> Suspended y k.
    Proof. exact (@never_suspended _ _ _ _ _ _ _ _ planner_laws _ _ _ runs never_overridden t y k). Qed.
  End Execution.

  (** Claim 4, totality: every step yields one input, and it is in U, from whatever state of the machine. *)
  Theorem Theorem_1_claim_4_totality :
    (forall u, U (projected u)) -> forall s i, exists u, input (transition algorithm s i) = u /\ U u.
  Proof.
    intros HP; apply claim_4_every_step_yields_an_admissible_input; simpl; [exact HP|].
    intros x p C; apply check_decides in C; apply (certified_state_admissible default_input C).
  Qed.

  (** * The loop can be run: executions exist for every stream of answers, candidates, alarms and commands *)

  Definition measuring (z : State) (i : StepInput State Input Name) : StepInput State Input Name :=
    {| measurement := Some z; answer := answer i; candidates := candidates i; alarm := alarm i; operator := operator i |}.

  Variable reads : nat -> StepInput State Input Name.

  Fixpoint loop (x0 : State) (r0 : StepResult State Input Name) (t : nat) : State * StepResult State Input Name :=
    match t with
    | 0 => (x0, r0)
    | S t => let (z, r) := loop x0 r0 t in
             let z' := f z (input r) in (z', transition algorithm (after r) (measuring z' (reads (S t))))
    end.

  Theorem Theorem_1_claim_4_the_loop_runs x0 p :
    first_state_ok x0 = true -> short_enough p = true ->
    feasible x0 p -> consensus p = K -> horizon p = T -> incl (options p) names -> In p (candidates (reads 0)) ->
    exists env x r, execution algorithm plant env x r /\ x 0 = x0
      /\ (forall t, answer (env t) = answer (reads t) /\ candidates (env t) = candidates (reads t)
                    /\ alarm (env t) = alarm (reads t) /\ operator (env t) = operator (reads t)).
  Proof.
    intros FS SE C HK HT L I; apply check_decides in C.
    assert (A : admits algorithm (start_request algorithm) p = true) by (apply admits_spec; simpl; auto).
    pose proof (first_certified_complete (sys := algorithm) (ours := false) (x := x0) I A SE C) as N.
    destruct (start algorithm (measuring x0 (reads 0))) as [r0|] eqn:St.
    - exists (fun t => measuring (fst (loop x0 r0 t)) (reads t)),
             (fun t => fst (loop x0 r0 t)), (fun t => snd (loop x0 r0 t)).
      split; [|split; [reflexivity | intros t; simpl; auto]].
      constructor; simpl; auto.
      + intros t; destruct (loop x0 r0 t); reflexivity.
      + intros t; destruct (loop x0 r0 t); reflexivity.
      + intros t; left; reflexivity.
    - unfold start in St; simpl in St; rewrite FS in St.
      destruct (first_certified algorithm false x0 (start_request algorithm) (candidates (reads 0))); congruence.
  Qed.

  (** * The consensus and the deadline fit: the options stay open for exactly K + 1 inputs *)

  (** After n inputs that do not depend on the answer, every option can still be reached within T + 1 steps. *)
  Definition still_open_after (n : nat) (x0 : State) (Y : list Name) : Prop :=
    exists us, length us = n /\
      forall y, In y Y -> exists vs, length (us ++ vs) = S T
        /\ admissible_from f (fun _ => X) (fun _ => U) 0 x0 (us ++ vs) /\ X_R y (roll f x0 (us ++ vs)).

  Theorem inclusive_consensus_keeps_options_open_until_the_deadline x0 p :
    feasible x0 p -> consensus p = K -> horizon p = T -> still_open_after (K + 1) x0 (options p).
  Proof.
    intros C HK HT.
    destruct (branches p) as [|[y0 us0] bs] eqn:B; [destruct (some_option C B)|].
    assert (I0 : In (y0, us0) (branches p)) by (rewrite B; left; reflexivity).
    exists (firstn (K + 1) us0); pose proof (recovery_length C I0) as L0; split.
    - rewrite firstn_length; lia.
    - intros y I; apply in_map_iff in I; destruct I as ([z us] & E & I); simpl in E; subst z.
      assert (EQ : firstn (K + 1) us0 = firstn (K + 1) us).
      { assert (G : forall n (a b : list Input), length a = length b ->
                  (forall k, k < n -> nth_error a k = nth_error b k) -> firstn n a = firstn n b).
        { induction n as [|n IH]; intros a b L H; [reflexivity|].
          destruct a as [|u a], b as [|v b]; try discriminate; [reflexivity|]; simpl.
          pose proof (H 0 ltac:(lia)) as H0; simpl in H0; injection H0 as ->.
          f_equal; apply IH; [simpl in L; lia|]; intros k Hk; apply (H (S k)); lia. }
        apply G; [rewrite L0, (recovery_length C I); reflexivity|].
        intros k Hk; apply (consensus_inclusive C I0 I); lia. }
      exists (skipn (K + 1) us); rewrite EQ, firstn_skipn.
      pose proof (recovery_length C I) as LI; rewrite HT in LI.
      split; [exact LI | split; [apply (recovery_admissible C I) | apply (recovery_terminal C I)]].
  Qed.
End Theorem1.
