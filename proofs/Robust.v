(** Theorem 1 for a plant that is not the model: x+ = A x + B u + b + w, w in W (theory 5).

    No numbers are needed: states and inputs are abstract commutative groups, A, B and F additive maps, and the
    tightened sets are set differences. kernel: model.Tightening, plan.check_plan, plan.shifted_plan. *)

From Coq Require Import List Arith Bool Lia.
From Aesop Require Import Plans Machine MachineProperties.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

Record CommutativeGroup (G : Type) : Type := {
  zero : G;
  add : G -> G -> G;
  opposite : G -> G;
  add_comm : forall x y, add x y = add y x;
  add_assoc : forall x y z, add x (add y z) = add (add x y) z;
  add_zero : forall x, add x zero = x;
  add_opposite : forall x, add x (opposite x) = zero
}.

Definition additive {G H} (gG : CommutativeGroup G) (gH : CommutativeGroup H) (f : G -> H) : Prop :=
  forall x y, f (add gG x y) = add gH (f x) (f y).

Section GroupFacts.
  Variables (G H : Type) (g : CommutativeGroup G) (h : CommutativeGroup H).
  Notation "x + y" := (add g x y).

  Lemma add_swap a b c d : (a + b) + (c + d) = (a + c) + (b + d).
  Proof. rewrite <- !(add_assoc g); f_equal; rewrite !(add_assoc g), (add_comm g b c); reflexivity. Qed.

  Lemma add_swap_right a b c : (a + b) + c = (a + c) + b.
  Proof. rewrite <- !(add_assoc g), (add_comm g b c); reflexivity. Qed.

  Lemma zero_add x : zero g + x = x.
  Proof. rewrite (add_comm g); apply add_zero. Qed.

  Lemma add_back z x : z + (x + opposite g z) = x.
  Proof. rewrite (add_assoc g), add_swap_right, (add_opposite g); apply zero_add. Qed.

  Lemma difference_of_sum z w : (z + w) + opposite g z = w.
  Proof. rewrite add_swap_right, (add_opposite g); apply zero_add. Qed.

  Lemma idempotent_is_zero x : x + x = x -> x = zero g.
  Proof.
    intros E; assert (x = x + (x + opposite g x)) as -> by (rewrite (add_opposite g); symmetry; apply add_zero).
    rewrite (add_assoc g), E; apply add_opposite.
  Qed.

  Lemma additive_zero (f : G -> H) : additive g h f -> f (zero g) = zero h.
  Proof.
    intros A; pose proof (A (zero g) (zero g)) as E; rewrite (add_zero g) in E.
    assert (I : forall y, y = add h y y -> y = zero h).
    { intros y Ey; transitivity (add h y (add h y (opposite h y))).
      - rewrite (add_opposite h); symmetry; apply add_zero.
      - rewrite (add_assoc h), <- Ey; apply add_opposite. }
    apply I, E.
  Qed.
End GroupFacts.

Section Tubes.
  Variables State Input Name : Type.
  Variable gS : CommutativeGroup State.
  Variable gI : CommutativeGroup Input.
  Notation "x + y" := (add gS x y).
  Notation "u ++' v" := (add gI u v) (at level 50, left associativity).

  Variable A : State -> State.
  Variable B : Input -> State.
  Variable b : State.
  Variable F : State -> Input.                       (* the tube gain *)
  Hypothesis A_additive : additive gS gS A.
  Hypothesis B_additive : additive gI gS B.
  Hypothesis F_additive : additive gS gI F.

  Definition model (x : State) (u : Input) : State := A x + B u + b.
  Definition Acl (v : State) : State := A v + B (F v).

  Lemma Acl_additive : additive gS gS Acl.
  Proof. intros x y; unfold Acl; rewrite A_additive, F_additive, B_additive; apply add_swap. Qed.

  (** Acl^k v *)
  Fixpoint power (k : nat) (v : State) : State := match k with 0 => v | S k => Acl (power k v) end.

  Lemma power_of_successor k v : power k (Acl v) = power (S k) v.
  Proof. induction k as [|k IH]; simpl; [reflexivity | rewrite IH; reflexivity]. Qed.

  (** The error between plant and model, fed back with F, moves by Acl. *)
  Lemma model_moves_with_the_tube z u v : model (z + v) (u ++' F v) = model z u + Acl v.
  Proof.
    unfold model, Acl; rewrite A_additive, B_additive, add_swap; apply add_swap_right.
  Qed.

  (** * R_k and the tightened sets *)

  Variable W : State -> Prop.

  (** R_0 = {0}, R_{k+1} = R_k + Acl^k W. *)
  Fixpoint R (k : nat) (v : State) : Prop :=
    match k with
    | 0 => v = zero gS
    | S k => exists r w, R k r /\ W w /\ v = r + power k w
    end.

  (** ... which is Acl R_k + W, the recursion of theory 5. *)
  Lemma R_successor_contains k r w : R k r -> W w -> R (S k) (Acl r + w).
  Proof.
    revert r w; induction k as [|k IH]; intros r w Hr Hw.
    - simpl in Hr; subst r; exists (zero gS), w; repeat split; auto; simpl.
      rewrite (additive_zero Acl_additive), (zero_add gS); reflexivity.
    - destruct Hr as (r0 & w0 & Hr & Hw0 & ->).
      exists (Acl r0 + w), w0; split; [apply IH; auto | split; [exact Hw0|]].
      rewrite Acl_additive; simpl; apply add_swap_right.
  Qed.

  Lemma R_successor_contained k v : R (S k) v -> exists r w, R k r /\ W w /\ v = Acl r + w.
  Proof.
    revert v; induction k as [|k IH]; intros v (r & w & Hr & Hw & E); subst v.
    - simpl in Hr; subst r; exists (zero gS), w; repeat split; auto; simpl.
      rewrite (additive_zero Acl_additive); reflexivity.
    - apply IH in Hr; destruct Hr as (r0 & w0 & Hr & Hw0 & ->).
      exists (r0 + power k w), w0; split; [|split; [exact Hw0|]].
      + exists r0, w; auto.
      + rewrite Acl_additive; simpl; apply add_swap_right.
  Qed.

  (** S - R_k, the Pontryagin difference; and S - F R_k for inputs. *)
  Definition minus (Set_ : State -> Prop) (k : nat) (z : State) : Prop := forall r, R k r -> Set_ (z + r).
  Definition minus_inputs (Set_ : Input -> Prop) (k : nat) (u : Input) : Prop := forall r, R k r -> Set_ (u ++' F r).

  (** The line on which everything closes (theory 5): z in S - R_{k+1}, w in W  ==>  z + Acl^k w in S - R_k. *)
  Theorem tightened_sets_absorb_a_disturbance (Set_ : State -> Prop) k z w :
    minus Set_ (S k) z -> W w -> minus Set_ k (z + power k w).
  Proof.
    intros H Hw r Hr; rewrite <- (add_assoc gS), (add_comm gS (power k w) r); apply H; exists r, w; auto.
  Qed.

  Theorem tightened_inputs_absorb_a_disturbance (Set_ : Input -> Prop) k u w :
    minus_inputs Set_ (S k) u -> W w -> minus_inputs Set_ k (u ++' F (power k w)).
  Proof.
    intros H Hw r Hr; rewrite <- (add_assoc gI), <- F_additive, (add_comm gS (power k w) r); apply H; exists r, w; auto.
  Qed.

  Lemma minus_R_0 Set_ z : minus Set_ 0 z <-> Set_ z.
  Proof.
    unfold minus; simpl; split; [intros H; rewrite <- (add_zero gS z); auto | intros H r ->; rewrite (add_zero gS); exact H].
  Qed.

  Lemma minus_inputs_R_0 Set_ u : minus_inputs Set_ 0 u <-> Set_ u.
  Proof.
    unfold minus_inputs; simpl; pose proof (additive_zero F_additive) as E; split.
    - intros H; rewrite <- (add_zero gI u), <- E; auto.
    - intros H r ->; rewrite E, (add_zero gI); exact H.
  Qed.

  Lemma minus_R_1 Set_ z w : minus Set_ 1 z -> W w -> Set_ (z + w).
  Proof.
    intros H Hw; apply H; exists (zero gS), w; repeat split; auto; simpl; symmetry; apply zero_add.
  Qed.

  (** * The system *)

  Variable X : State -> Prop.
  Variable U : Input -> Prop.                         (* what may be sent *)
  Variable U_plan : Input -> Prop.                    (* what may be planned: its rounding is in U *)
  Variable X_R : Name -> State -> Prop.
  Variable g : Name -> Input.
  Variable send : Input -> Input.                     (* rounding to the quantum *)
  Variable W_measured : State -> Prop.                (* x_{t+1} - (A x_t + B u_t + b) for the sent u_t *)

  (** kappa_y(x) = F x + g_y, the law with the tube's own gain. *)
  Definition kappa (y : Name) (x : State) : Input := F x ++' g y.

  (** kernel: invariance.check_recovery_set. *)
  Definition robustly_invariant : Prop := forall y z, X_R y z ->
    X z /\ U_plan (kappa y z) /\ forall w, W w -> X_R y (model z (kappa y z) + w).

  (** The rounding of inputs is a disturbance like any other, and it stays in U. *)
  Definition rounding_is_covered : Prop := forall u, U_plan u ->
    U (send u) /\ forall d, W_measured d -> W (B (add gI (send u) (opposite gI u)) + d).

  Definition XS := minus X.
  Definition US := minus_inputs U_plan.
  Definition XR (y : Name) := minus (X_R y).

  Definition plant (x : State) (u : Input) (x' : State) : Prop := exists d, W_measured d /\ x' = model x u + d.

  Hypothesis invariant : robustly_invariant.
  Hypothesis rounding : rounding_is_covered.

  (** Kappa on a lengthened plan stays in the tightened sets (theory 5, second paragraph). *)
  Theorem lengthened_plan_stays_in_tightened_sets : law_keeps_recovery_set model XS US XR kappa.
  Proof.
    intros y k z H; split; [|split].
    - intros r Hr; apply (invariant (H r Hr)).
    - intros r Hr; destruct (invariant (H r Hr)) as (_ & HU & _); unfold kappa in *.
      rewrite (F_additive z r) in HU; rewrite (add_swap_right gI (F z)); exact HU.
    - intros v Hv; apply R_successor_contained in Hv; destruct Hv as (r & w & Hr & Hw & ->).
      destruct (invariant (H r Hr)) as (_ & _ & HR); specialize (HR w Hw); unfold kappa in *.
      rewrite (F_additive z r), (add_swap_right gI (F z)), model_moves_with_the_tube in HR.
      rewrite (add_assoc gS); exact HR.
  Qed.

  (** * The correction: u'_k = u_{k+1} + F Acl^k w with w = x_{t+1} - z_1 (the planned, not the sent input) *)

  Fixpoint correct (v : State) (us : list Input) : list Input :=
    match us with [] => [] | u :: us => u ++' F v :: correct (Acl v) us end.

  Definition corrected (z1 x' : State) (us : list Input) : list Input := correct (x' + opposite gS z1) us.

  Lemma correct_length v us : length (correct v us) = length us.
  Proof. revert v; induction us; simpl; auto. Qed.

  Lemma correct_pointwise v us vs k : nth_error us k = nth_error vs k -> nth_error (correct v us) k = nth_error (correct v vs) k.
  Proof.
    revert v us vs; induction k as [|k IH]; intros v [|u us] [|u' us']; simpl; intros E; try discriminate; auto.
    - injection E as ->; reflexivity.
    - rewrite <- (IH (Acl v) [] us'); [destruct k; reflexivity | destruct k; exact E].
    - rewrite (IH (Acl v) us []); [destruct k; reflexivity | destruct k; exact E].
  Qed.

  (** The k-th correction is F Acl^k v. kernel: Tightening.corrections. *)
  Lemma correct_nth v us k u : nth_error us k = Some u -> nth_error (correct v us) k = Some (u ++' F (power k v)).
  Proof.
    revert v us; induction k as [|k IH]; intros v [|u0 us] E; try discriminate; simpl in *.
    - injection E as ->; reflexivity.
    - rewrite (IH (Acl v) us E), power_of_successor; reflexivity.
  Qed.

  Lemma correct_admissible us : forall k z w, W w ->
    admissible_from model XS US (S k) z us ->
    admissible_from model XS US k (z + power k w) (correct (power k w) us).
  Proof.
    induction us as [|u us IH]; intros k z w Hw H; [apply admissible_nil|].
    apply admissible_cons in H; destruct H as [[HX HU] H]; simpl; apply admissible_cons; split; [split|].
    - apply tightened_sets_absorb_a_disturbance; auto.
    - apply tightened_inputs_absorb_a_disturbance; auto.
    - rewrite model_moves_with_the_tube; apply (IH (S k)); auto.
  Qed.

  Lemma roll_correct us : forall z k w,
    roll model (z + power k w) (correct (power k w) us) = roll model z us + power (k + length us) w.
  Proof.
    induction us as [|u us IH]; intros z k w; simpl; [rewrite Nat.add_0_r; reflexivity|].
    rewrite model_moves_with_the_tube; pose proof (IH (model z u) (S k) w) as E; simpl in E; rewrite E, Nat.add_succ_r.
    reflexivity.
  Qed.

  (** What the planned next state is off by is in W, the rounding included. *)
  Lemma observed_disturbance x u x' : U_plan u -> plant x (send u) x' -> exists w, W w /\ x' = model x u + w.
  Proof.
    intros HU (d & Hd & ->); destruct (rounding HU) as [_ HW].
    exists (B (add gI (send u) (opposite gI u)) + d); split; [apply HW, Hd|].
    unfold model; rewrite (add_assoc gS (A x + B u + b)); f_equal.
    rewrite (add_swap_right gS (A x + B u) b), <- (add_assoc gS (A x) (B u)), <- B_additive, (add_back gI); reflexivity.
  Qed.

  Theorem correction_absorbs_the_disturbance :
    correction_works model XS US XR corrected plant send.
  Proof.
    constructor.
    - intros; apply correct_length.
    - intros; apply correct_pointwise; auto.
    - intros x u x' us HU P H; apply (proj1 (minus_inputs_R_0 U_plan _)) in HU; destruct (observed_disturbance HU P) as (w & Hw & ->).
      unfold corrected; rewrite (difference_of_sum gS); apply (correct_admissible (k := 0)); auto.
    - intros x u x' us y HU P H; apply (proj1 (minus_inputs_R_0 U_plan _)) in HU; destruct (observed_disturbance HU P) as (w & Hw & ->).
      unfold corrected; rewrite (difference_of_sum gS).
      pose proof (roll_correct us (model x u) 0 w) as E; simpl in E; rewrite E.
      apply tightened_sets_absorb_a_disturbance; auto.
  Qed.

  (** * The algorithm on the tightened sets *)

  Definition robustly_feasible : State -> Plan Input Name -> Prop := certified model XS US XR.

  Variable name_eq_dec : forall a b : Name, {a = b} + {a <> b}.
  Variables names fallback_order : list Name.
  Variables K T : nat.
  Variable check : State -> Plan Input Name -> bool.
  Variable short_enough : Plan Input Name -> bool.
  Variable projected : Input -> Input.
  Variable first_state_ok : State -> bool.
  Variable prediction_is_exact : bool.
  Variable default_name : Name.

  Definition robust_algorithm : System State Input Name := {|
    Machine.name_eq_dec := name_eq_dec;
    Machine.names := names;
    Machine.fallback_order := fallback_order;
    full_horizon := T;
    full_consensus := K;
    next_state := model;
    law := kappa;
    Machine.corrected := corrected;
    Machine.check := check;
    Machine.short_enough := short_enough;
    quantised := send;
    Machine.projected := projected;
    Machine.first_state_ok := first_state_ok;
    Machine.prediction_is_exact := prediction_is_exact;
    default_input := zero gI;
    Machine.default_name := default_name
  |}.

  Hypothesis K_below_T : K < T.
  Hypothesis policy_is_total : incl names fallback_order.
  Hypothesis check_decides : forall x p, check x p = true <-> robustly_feasible x p.
  Hypothesis exact_when_undisturbed : prediction_is_exact = true -> forall d, W_measured d -> d = zero gS.

  (** The shifted plan is certified again, in every mode (theory 4 and 5). *)
  Theorem shifted_plan_robustly_certified x p x' Y K' T' :
    robustly_feasible x p -> plant x (send (first_input (zero gI) p)) x' ->
    Y <> [] -> NoDup Y -> incl Y (options p) -> horizon p <= S T' -> K' <= T' ->
    K' < consensus p \/ (exists y, Y = [y]) ->
    robustly_feasible x' (shifted model kappa name_eq_dec (zero gI) corrected p x x' Y K' T').
  Proof.
    intros C P; intros.
    apply (shifted_plan_certified lengthened_plan_stays_in_tightened_sets name_eq_dec correction_absorbs_the_disturbance C P); auto.
  Qed.

  Theorem robust_planner_laws : PlannerLaws robust_algorithm plant X U X_R.
  Proof.
    constructor; simpl; auto.
    - intros x p C; apply check_decides in C; destruct (certified_state_admissible (zero gI) C) as [HX HU].
      apply (proj1 (minus_R_0 X _)) in HX; apply (proj1 (minus_inputs_R_0 U_plan _)) in HU; split; [exact HX | apply (rounding HU)].
    - intros x p C; apply check_decides in C; unfold options; destruct (branches p) eqn:E.
      + destruct (some_option C E).
      + discriminate.
    - intros x p C; apply check_decides in C; apply (options_distinct C).
    - intros x p x' Y K' T' C P; intros; apply check_decides in C; apply check_decides.
      apply (shifted_plan_robustly_certified C P); auto.
    - intros x p x' y C P I H; apply check_decides in C; apply (proj1 (minus_R_0 (X_R y) _)).
      exact (horizon_zero_arrives name_eq_dec correction_absorbs_the_disturbance C P I H).
    - intros x u x' E (d & Hd & ->); rewrite (exact_when_undisturbed E Hd); apply add_zero.
  Qed.

  Section Execution.
    Variable env : nat -> StepInput State Input Name.
    Variable x : nat -> State.                        (* what is measured: the state, or its estimate *)
    Variable r : nat -> StepResult State Input Name.
    Hypothesis runs : execution robust_algorithm plant env x r.
    Hypothesis never_overridden : forall t, overridden (env (S t)) = false.

    Theorem Robust_Theorem_1_claim_1 : forall t, X (x t) /\ U (input (r t)).
    Proof. exact (claim_1_states_and_inputs_are_safe robust_planner_laws runs never_overridden). Qed.

    Theorem Robust_Theorem_1_claim_2 :
      forall t, exists y p, In y names /\ options p = [y] /\ consensus p = K /\ horizon p = T /\ robustly_feasible (x t) p.
    Proof.
      intros t.
      destruct (claim_2_a_certified_plan_is_held robust_planner_laws runs never_overridden t) as (C & Fit & y & Iy & In_y).
      apply check_decides in C.
      exists y, (kept_and_lengthened model kappa name_eq_dec (plan_at r t) (x t) y K T).
      split; [exact In_y|]; do 3 (split; [reflexivity|]).
      apply (lengthened_plan_certified lengthened_plan_stays_in_tightened_sets name_eq_dec C Iy); [|lia].
      destruct (mode_at r t); simpl in Fit; lia.
    Qed.

    Theorem Robust_Theorem_1_claim_3 t_anom Y trigger j y :
      anomaly_at r t_anom Y trigger -> 1 <= j -> still_waiting_at r (t_anom + (j - 1))%nat (j - 1) Y trigger ->
      answer (env (t_anom + j)%nat) = Some (Choice trigger y) -> In y Y -> not_resumed_after env (t_anom + j)%nat ->
      forall t, (t_anom + T + 1 <= t)%nat -> X_R y (x t).
    Proof. exact (@claim_3_chosen_intervention _ _ _ _ _ _ _ _ robust_planner_laws _ _ _ runs never_overridden t_anom Y trigger j y). Qed.

    Theorem Robust_Theorem_1_claim_3_any_decision t k y :
      mode_at r t = Recovering y k -> not_resumed_after env t ->
      forall s, t < s -> (t + T + 1 <= s + k)%nat -> X_R y (x s).
    Proof. exact (@claim_3_recovering_arrives_and_stays _ _ _ _ _ _ _ _ robust_planner_laws _ _ _ runs never_overridden t y k). Qed.

    Theorem Robust_Theorem_1_claim_4_decision t_anom Y trigger :
      anomaly_at r t_anom Y trigger ->
      exists j, 1 <= j <= (K + 1)%nat /\
        ((exists y, In y Y /\ mode_at r (t_anom + j)%nat = Recovering y j) \/ cleared_at env (t_anom + j)%nat trigger).
    Proof. exact (@claim_4_decided_by_the_deadline _ _ _ _ _ _ _ _ robust_planner_laws _ _ _ runs never_overridden t_anom Y trigger). Qed.

    Theorem Robust_Theorem_1_never_suspended t y k : mode_at r t <> Suspended y k.
    Proof. exact (@never_suspended _ _ _ _ _ _ _ _ robust_planner_laws _ _ _ runs never_overridden t y k). Qed.

    (** ** The true state, when x is an estimate xhat = s + e with e in E

        The estimate moves by w + e+ - A e (theory 5), so W_measured is W_plant + E + (-A E). *)

    Variable W_plant E : State -> Prop.
    Variable s : nat -> State.                        (* the true state *)
    Variable e : nat -> State.                        (* the error of the estimate *)
    Hypothesis error_covered : forall w e0 e1, W_plant w -> E e0 -> E e1 -> W_measured (w + e1 + opposite gS (A e0)).
    Hypothesis zero_error_possible : E (zero gS).
    Hypothesis estimate : forall t, x t = s t + e t.
    Hypothesis error_bounded : forall t, E (e t).
    Hypothesis plant_moves : forall t, exists w, W_plant w /\ s (S t) = model (s t) (input (r t)) + w.

    (** The next true state is the planned one plus an element of W. *)
    Lemma true_state_is_in_the_tube t :
      exists w, W w /\ s (S t) = model (x t) (first_input (zero gI) (plan_at r t)) + w.
    Proof.
      destruct (every_step_is_certified robust_planner_laws runs never_overridden t) as [[C _ Sent _ _] Inp _].
      apply check_decides in C; destruct (certified_state_admissible (zero gI) C) as [_ HU].
      apply (proj1 (minus_inputs_R_0 U_plan _)) in HU; destruct (plant_moves t) as (w & Hw & M).
      apply (@observed_disturbance (x t) (first_input (zero gI) (plan_at r t)) (s (S t)) HU).
      exists (w + zero gS + opposite gS (A (e t))); split; [apply error_covered; auto|].
      rewrite M, Inp, Sent; unfold model; rewrite (estimate t), A_additive, (add_zero gS).
      change (first robust_algorithm (plan (held (after (r t))))) with (first_input (zero gI) (plan_at r t)).
      set (a := A (s t)); set (c := A (e t)); set (d := B _).
      rewrite !(add_assoc gS).
      rewrite (add_swap_right gS (a + c + d + b) w (opposite gS c)); f_equal.
      rewrite (add_swap_right gS (a + c + d) b (opposite gS c)); f_equal.
      rewrite (add_swap_right gS (a + c) d (opposite gS c)); f_equal.
      rewrite <- (add_assoc gS), (add_opposite gS), (add_zero gS); reflexivity.
    Qed.

    (** The first estimate lies in X - (-E). kernel: System.first_state_set, machine._estimate_refusal. *)
    Hypothesis first_state_checked : forall z e0, first_state_ok z = true -> E e0 -> X (z + opposite gS e0).

    Lemma first_true_state_is_safe : X (s 0).
    Proof.
      pose proof (started runs) as St; unfold start in St; rewrite (measured_first runs) in St; simpl in St.
      destruct (first_state_ok (x 0)) eqn:Ok; [|discriminate].
      pose proof (first_state_checked Ok (error_bounded 0)) as H; rewrite (estimate 0) in H.
      rewrite <- (add_assoc gS), (add_opposite gS), (add_zero gS) in H; exact H.
    Qed.

    (** Claim 1 for the true state. *)
    Theorem Robust_true_state_claim_1 : forall t, X (s t) /\ U (input (r t)).
    Proof.
      intros t; split; [|apply Robust_Theorem_1_claim_1]; destruct t as [|t]; [apply first_true_state_is_safe|].
      destruct (true_state_is_in_the_tube t) as (w & Hw & ->); apply minus_R_1; [|exact Hw].
      destruct (claim_2_a_certified_plan_is_held robust_planner_laws runs never_overridden t) as (C & _).
      apply check_decides in C.
      apply (certified_next_state_admissible lengthened_plan_stays_in_tightened_sets (zero gI) C).
    Qed.

    (** Claim 3 for the true state. *)
    Theorem Robust_true_state_claim_3 t k y :
      mode_at r t = Recovering y k -> not_resumed_after env t ->
      forall q, t < q -> (t + T + 1 <= q + k)%nat -> X_R y (s q).
    Proof.
      intros M NR q L1 L2; destruct q as [|q]; [lia|].
      pose proof (recovering_for_ever robust_planner_laws runs never_overridden (q - t) M NR) as M'.
      replace (t + (q - t))%nat with q in M' by lia.
      destruct (claim_2_a_certified_plan_is_held robust_planner_laws runs never_overridden q) as (C & Fit & _).
      rewrite M' in Fit; simpl in Fit; destruct Fit as (FY & _ & FH); apply check_decides in C.
      destruct (true_state_is_in_the_tube q) as (w & Hw & ->); apply minus_R_1; [|exact Hw].
      apply (horizon_zero_plans_arrival name_eq_dec (zero gI) C); [rewrite FY; left; reflexivity | lia].
    Qed.
  End Execution.
End Tubes.
