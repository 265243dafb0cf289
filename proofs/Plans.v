(** Plans of Eq. (3), and the shifted plan that makes the loop independent of its solver.

    spec/README.md, "The problem (Eq. (3) of the paper, with its indices)"; kernel: plan.py.

    Everything is stated for arbitrary types of states, inputs and names, an arbitrary model [next] and sets
    that may depend on the step k of a plan. With constant sets this is the paper's Eq. (3) (Theorem1.v); with
    the sets X - R_k, U - F R_k, X_R - R_k it is the robust problem (Robust.v). *)

From Coq Require Import List Arith Lia.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

Section ListFacts.
  Variable A : Type.

  Lemma nth_error_of_prefix (l : list A) n k : k < n -> nth_error (firstn n l) k = nth_error l k.
  Proof.
    revert l k; induction n as [|n IH]; intros l k L; [lia|].
    destruct l as [|a l], k as [|k]; simpl; auto; apply IH; lia.
  Qed.

  Lemma first_of_nonempty (l : list A) n : length l = S n -> exists a r, l = a :: r /\ length r = n.
  Proof. destruct l as [|a r]; simpl; intros H; [discriminate | exists a, r; auto]. Qed.
End ListFacts.

(** Input sequences only, never states (theory 1). [branches] holds u^i_0 .. u^i_T for each option i of Y.
    kernel: plan.Plan. *)
Record Plan (Input Name : Type) : Type := {
  nominal : list Input;
  branches : list (Name * list Input);
  consensus : nat;
  horizon : nat
}.
Arguments Build_Plan {Input Name}.

Definition options {Input Name} (p : Plan Input Name) : list Name := map fst (branches p).

(** u_0, common to all branches of a certified plan. kernel: Plan.first_input. *)
Definition first_input {Input Name} (default : Input) (p : Plan Input Name) : Input := hd default (nominal p).

Section Eq3.
  Variables State Input Name : Type.
  Variable next : State -> Input -> State.
  Variable XS : nat -> State -> Prop.
  Variable US : nat -> Input -> Prop.
  Variable XR : Name -> nat -> State -> Prop.

  (** x_{|us|}, from x under the inputs us. *)
  Fixpoint roll (x : State) (us : list Input) : State :=
    match us with [] => x | u :: rest => roll (next x u) rest end.

  Lemma roll_app x us vs : roll x (us ++ vs) = roll (roll x us) vs.
  Proof. revert x; induction us; simpl; auto. Qed.

  (** Constraint 1 of Eq. (3): u_k in U and x_k in X for every k, with steps counted from [start]. *)
  Definition admissible_from (start : nat) (x : State) (us : list Input) : Prop :=
    forall k u, nth_error us k = Some u -> XS (start + k) (roll x (firstn k us)) /\ US (start + k) u.

  Notation admissible := (admissible_from 0).

  (** Eq. (3), constraints 1-4 of the specification. kernel: plan.check_plan decides exactly this. *)
  Record certified (x : State) (p : Plan Input Name) : Prop := {
    some_option : branches p <> [];
    options_distinct : NoDup (options p);
    consensus_within_horizon : consensus p <= horizon p;
    nominal_length : length (nominal p) = S (horizon p);
    nominal_admissible : admissible x (nominal p);
    recovery_length : forall y us, In (y, us) (branches p) -> length us = S (horizon p);
    recovery_admissible : forall y us, In (y, us) (branches p) -> admissible x us;
    recovery_terminal : forall y us, In (y, us) (branches p) -> XR y (S (horizon p)) (roll x us);
    first_input_shared : forall y us, In (y, us) (branches p) -> nth_error us 0 = nth_error (nominal p) 0;
    consensus_inclusive : forall y us z vs, In (y, us) (branches p) -> In (z, vs) (branches p) ->
      forall k, k <= consensus p -> nth_error us k = nth_error vs k
  }.

  Lemma admissible_nil start x : admissible_from start x [].
  Proof. intros [|k] u; simpl; discriminate. Qed.

  Lemma admissible_cons start x u us :
    admissible_from start x (u :: us) <-> (XS start x /\ US start u) /\ admissible_from (S start) (next x u) us.
  Proof.
    unfold admissible_from; split.
    - intros H; split.
      + specialize (H 0 u eq_refl); simpl in H; rewrite Nat.add_0_r in H; exact H.
      + intros k v Hv; specialize (H (S k) v Hv); simpl in H; rewrite Nat.add_succ_r in H; exact H.
    - intros [H0 H] [|k] v Hv; simpl in *.
      + injection Hv as <-; rewrite Nat.add_0_r; exact H0.
      + rewrite Nat.add_succ_r; exact (H k v Hv).
  Qed.

  Lemma admissible_app start x us vs :
    admissible_from start x us -> admissible_from (start + length us) (roll x us) vs ->
    admissible_from start x (us ++ vs).
  Proof.
    revert start x; induction us as [|u us IH]; intros start x Hu Hv; simpl in *.
    - rewrite Nat.add_0_r in Hv; exact Hv.
    - apply admissible_cons in Hu; destruct Hu as [H0 Hu].
      apply admissible_cons; split; [exact H0|]; apply IH; [exact Hu|].
      rewrite Nat.add_succ_r in Hv; exact Hv.
  Qed.

  Lemma certified_state_admissible default x p : certified x p -> XS 0 x /\ US 0 (first_input default p).
  Proof.
    intros C; destruct (first_of_nonempty (nominal_length C)) as (u & r & E & _).
    pose proof (nominal_admissible C) as A; rewrite E in A; apply admissible_cons in A; destruct A as [A _].
    unfold first_input; rewrite E; exact A.
  Qed.

  (** Every branch of a certified plan begins with the plan's first input. *)
  Lemma certified_branch_starts_with_first_input default x p y us :
    certified x p -> In (y, us) (branches p) ->
    exists rest, us = first_input default p :: rest /\ length rest = horizon p.
  Proof.
    intros C I; destruct (first_of_nonempty (recovery_length C I)) as (u & rest & E & L).
    destruct (first_of_nonempty (nominal_length C)) as (v & r & E0 & _).
    pose proof (first_input_shared C I) as F; rewrite E, E0 in F; simpl in F; injection F as ->.
    exists rest; unfold first_input; rewrite E0; auto.
  Qed.

  (** * The recovery law at the end of a branch *)

  Variable law : Name -> State -> Input.

  (** [count] inputs of kappa_y from x. *)
  Fixpoint lawful (y : Name) (x : State) (count : nat) : list Input :=
    match count with 0 => [] | S n => law y x :: lawful y (next x (law y x)) n end.

  Lemma lawful_length y x n : length (lawful y x n) = n.
  Proof. revert x; induction n; simpl; auto. Qed.

  (** Invariance of X_R^y under kappa_y, in the form in which a lengthened plan needs it (theory 5 and 6). *)
  Definition law_keeps_recovery_set : Prop :=
    forall y k z, XR y k z -> XS k z /\ US k (law y z) /\ XR y (S k) (next z (law y z)).

  Hypothesis invariant : law_keeps_recovery_set.

  Lemma lawful_admissible_and_terminal y k z n :
    XR y k z -> admissible_from k z (lawful y z n) /\ XR y (k + n) (roll z (lawful y z n)).
  Proof.
    revert k z; induction n as [|n IH]; intros k z H; simpl.
    - rewrite Nat.add_0_r; split; [apply admissible_nil | exact H].
    - destruct (invariant H) as (HX & HU & HR); destruct (IH _ _ HR) as [HA HT].
      rewrite Nat.add_succ_r; split; [apply admissible_cons; auto | exact HT].
  Qed.

  (** us, then kappa_y until there are [count] inputs. *)
  Definition lengthened (y : Name) (x : State) (us : list Input) (count : nat) : list Input :=
    us ++ lawful y (roll x us) (count - length us).

  Lemma lengthened_recovers y x us count :
    length us <= count -> admissible x us -> XR y (length us) (roll x us) ->
    length (lengthened y x us count) = count /\ admissible x (lengthened y x us count)
    /\ XR y count (roll x (lengthened y x us count)).
  Proof.
    intros L A T; unfold lengthened.
    destruct (lawful_admissible_and_terminal (count - length us) T) as [A' T'].
    rewrite app_length, lawful_length, roll_app.
    replace (length us + (count - length us)) with count in * by lia.
    split; [reflexivity | split; [apply admissible_app; auto | exact T']].
  Qed.

  (** The planned next state is in X as tightened for step 1, even when the horizon is 0. *)
  Lemma certified_next_state_admissible default x p : certified x p -> XS 1 (next x (first_input default p)).
  Proof.
    intros C; destruct (branches p) as [|[y us] bs] eqn:B; [destruct (some_option C B)|].
    assert (I : In (y, us) (branches p)) by (rewrite B; left; reflexivity).
    destruct (certified_branch_starts_with_first_input default C I) as (rest & E & LR).
    pose proof (recovery_admissible C I) as A; pose proof (recovery_terminal C I) as T.
    rewrite E in A, T; apply admissible_cons in A; destruct A as [_ A]; simpl in T.
    destruct rest as [|v rest]; simpl in LR.
    - rewrite <- LR in T; apply (invariant T).
    - apply admissible_cons in A; apply A.
  Qed.

  (** * The shifted plan (theory 4; kernel: plan.shifted_plan) *)

  Variable name_eq_dec : forall a b : Name, {a = b} + {a <> b}.
  Variable default_input : Input.
  (** [corrected z1 x' us]: the inputs us of a branch, planned from z1, made fit for the measured state x'. *)
  Variable corrected : State -> State -> list Input -> list Input.

  Fixpoint branch_of (y : Name) (bs : list (Name * list Input)) : list Input :=
    match bs with
    | [] => []
    | (z, us) :: rest => if name_eq_dec z y then us else branch_of y rest
    end.

  Lemma branch_of_option y bs : In y (map fst bs) -> In (y, branch_of y bs) bs.
  Proof.
    induction bs as [|[z us] bs IH]; simpl; [tauto|].
    destruct (name_eq_dec z y) as [->|N]; [auto|]; intros [E|I]; [congruence | right; auto].
  Qed.

  Definition shifted_branch (p : Plan Input Name) (x x' : State) (count : nat) (y : Name) : list Input :=
    firstn count (lengthened y x' (corrected (next x (first_input default_input p)) x' (tl (branch_of y (branches p)))) count).

  (** Drops each branch's first input, corrects the rest, appends kappa_y until there are T' + 1 inputs; the
      first option's branch becomes the nominal one. *)
  Definition shifted (p : Plan Input Name) (x x' : State) (Y : list Name) (K' T' : nat) : Plan Input Name := {|
    nominal := match Y with [] => [] | y :: _ => shifted_branch p x x' (S T') y end;
    branches := map (fun y => (y, shifted_branch p x x' (S T') y)) Y;
    consensus := K';
    horizon := T'
  |}.

  Lemma shifted_options p x x' Y K' T' : options (shifted p x x' Y K' T') = Y.
  Proof. unfold options; simpl; rewrite map_map; simpl; apply map_id. Qed.

  (** What the plant may do: [plant x u x'] when x' can follow x under the input u that was sent. *)
  Variable plant : State -> Input -> State -> Prop.
  Variable send : Input -> Input.

  (** What a correction must achieve; trivial without a disturbance, Robust.v otherwise. *)
  Record correction_works : Prop := {
    corrected_length : forall z x' us, length (corrected z x' us) = length us;
    corrected_pointwise : forall z x' us vs k,
      nth_error us k = nth_error vs k -> nth_error (corrected z x' us) k = nth_error (corrected z x' vs) k;
    corrected_admissible : forall x u x' us, US 0 u -> plant x (send u) x' ->
      admissible_from 1 (next x u) us -> admissible (x') (corrected (next x u) x' us);
    corrected_terminal : forall x u x' us y, US 0 u -> plant x (send u) x' ->
      XR y (S (length us)) (roll (next x u) us) -> XR y (length us) (roll x' (corrected (next x u) x' us))
  }.

  Hypothesis works : correction_works.

  Lemma shifted_branch_recovers x p x' T' y :
    certified x p -> plant x (send (first_input default_input p)) x' -> In y (options p) -> horizon p <= S T' ->
    let vs := shifted_branch p x x' (S T') y in
    length vs = S T' /\ admissible x' vs /\ XR y (S T') (roll x' vs).
  Proof.
    intros C P I L; apply branch_of_option in I.
    destruct (certified_branch_starts_with_first_input default_input C I) as (rest & E & LR).
    pose proof (recovery_admissible C I) as A; pose proof (recovery_terminal C I) as T.
    rewrite E in A, T; apply admissible_cons in A; destruct A as [[_ U0] A]; simpl in T.
    rewrite <- LR in T.
    assert (LC := corrected_length works (next x (first_input default_input p)) x' rest).
    pose proof (corrected_admissible works U0 P A) as A'.
    pose proof (corrected_terminal works U0 P T) as T''.
    rewrite <- LC in T''.
    destruct (lengthened_recovers (count := S T') ltac:(rewrite LC, LR; exact L) A' T'') as (R1 & R2 & R3).
    unfold shifted_branch; rewrite E; simpl tl; cbv zeta.
    rewrite firstn_all2 by lia; auto.
  Qed.

  (** Each input that the shifted branch takes over is the correction of the one planned for the step after. *)
  Lemma shifted_branch_takes_over x p x' T' y k :
    certified x p -> In y (options p) -> k < horizon p -> k <= T' ->
    nth_error (shifted_branch p x x' (S T') y) k
    = nth_error (corrected (next x (first_input default_input p)) x' (tl (branch_of y (branches p)))) k.
  Proof.
    intros C I L M; apply branch_of_option in I.
    destruct (certified_branch_starts_with_first_input default_input C I) as (rest & E & LR).
    unfold shifted_branch, lengthened; rewrite E; simpl tl.
    assert (LC := corrected_length works (next x (first_input default_input p)) x' rest).
    rewrite nth_error_of_prefix by lia; apply nth_error_app1; lia.
  Qed.

  (** The shift lemma, for every mode at once: any Y' within the plan's options, any horizon T' >= T - 1, and
      either one consensus step is used up or a single option is kept. *)
  Theorem shifted_plan_certified x p x' Y K' T' :
    certified x p -> plant x (send (first_input default_input p)) x' ->
    Y <> [] -> NoDup Y -> incl Y (options p) ->
    horizon p <= S T' -> K' <= T' -> K' < consensus p \/ (exists y, Y = [y]) ->
    certified x' (shifted p x x' Y K' T').
  Proof.
    intros C P N D S LT LK Q.
    assert (R : forall y, In y Y -> let vs := shifted_branch p x x' (Datatypes.S T') y in
              length vs = Datatypes.S T' /\ admissible x' vs /\ XR y (Datatypes.S T') (roll x' vs)).
    { intros y I; apply shifted_branch_recovers; auto. }
    assert (B : forall y us, In (y, us) (branches (shifted p x x' Y K' T')) ->
              In y Y /\ us = shifted_branch p x x' (Datatypes.S T') y).
    { intros y us I; simpl in I; apply in_map_iff in I; destruct I as (z & E & I).
      injection E as -> <-; auto. }
    assert (Agree : forall y z k, In y Y -> In z Y -> k <= K' ->
              nth_error (shifted_branch p x x' (Datatypes.S T') y) k
              = nth_error (shifted_branch p x x' (Datatypes.S T') z) k).
    { intros y z k Iy Iz Lk; destruct Q as [Q | [w ->]].
      - pose proof (consensus_within_horizon C).
        rewrite !shifted_branch_takes_over by (auto; lia).
        apply (corrected_pointwise works).
        pose proof (branch_of_option (S _ Iy)) as By.
        pose proof (branch_of_option (S _ Iz)) as Bz.
        pose proof (consensus_inclusive C By Bz (k := Datatypes.S k) ltac:(lia)) as E.
        destruct (first_of_nonempty (recovery_length C By)) as (u & r & Ey & _).
        destruct (first_of_nonempty (recovery_length C Bz)) as (v & s & Ez & _).
        rewrite Ey, Ez in *; exact E.
      - destruct Iy as [->|[]]; destruct Iz as [->|[]]; reflexivity. }
    destruct Y as [|y0 Y0]; [congruence|].
    assert (I0 : In y0 (y0 :: Y0)) by (left; reflexivity).
    constructor.
    - simpl; discriminate.
    - rewrite shifted_options; exact D.
    - exact LK.
    - apply (R y0 I0).
    - apply (R y0 I0).
    - intros y us I; destruct (B _ _ I) as [Iy ->]; apply (R _ Iy).
    - intros y us I; destruct (B _ _ I) as [Iy ->]; apply (R _ Iy).
    - intros y us I; destruct (B _ _ I) as [Iy ->]; apply (R _ Iy).
    - intros y us I; destruct (B _ _ I) as [Iy ->]; apply (Agree y y0); auto with arith.
    - intros y us z vs I J k L; destruct (B _ _ I) as [Iy ->]; destruct (B _ _ J) as [Iz ->].
      apply Agree; auto.
  Qed.

  (** ** The shift lemma mode by mode (theory 4) *)

  (** Nominal: for any single i in Y the shifted trajectory is a plan for ({i}, K, T). *)
  Corollary shifted_in_nominal x p x' y :
    certified x p -> plant x (send (first_input default_input p)) x' -> In y (options p) ->
    certified x' (shifted p x x' [y] (consensus p) (horizon p)).
  Proof.
    intros C P I; apply shifted_plan_certified; eauto using consensus_within_horizon.
    - discriminate.
    - repeat constructor; auto.
    - intros z [<-|[]]; exact I.
  Qed.

  (** Waiting: all options survive, one step of both horizons is used up. *)
  Corollary shifted_in_waiting x p x' :
    certified x p -> plant x (send (first_input default_input p)) x' -> 0 < consensus p ->
    certified x' (shifted p x x' (options p) (consensus p - 1) (horizon p - 1)).
  Proof.
    intros C P L; pose proof (consensus_within_horizon C).
    apply shifted_plan_certified; auto using incl_refl; try lia.
    - unfold options; destruct (branches p) eqn:E; [destruct (some_option C E) | discriminate].
    - apply (options_distinct C).
  Qed.

  (** Recovering, and the step that chooses y: ({y}, 0, max(0, T - 1)). *)
  Corollary shifted_in_recovering x p x' y :
    certified x p -> plant x (send (first_input default_input p)) x' -> In y (options p) ->
    certified x' (shifted p x x' [y] 0 (horizon p - 1)).
  Proof.
    intros C P I; apply shifted_plan_certified; eauto; try lia.
    - discriminate.
    - repeat constructor; auto.
    - intros z [<-|[]]; exact I.
  Qed.

  (** Answer 0: lengthened by kappa_i to any longer horizon, for a single i. *)
  Corollary shifted_on_answer_clear x p x' y K' T' :
    certified x p -> plant x (send (first_input default_input p)) x' -> In y (options p) ->
    horizon p <= T' -> K' <= T' -> certified x' (shifted p x x' [y] K' T').
  Proof.
    intros C P I L M; apply shifted_plan_certified; eauto; try lia.
    - discriminate.
    - repeat constructor; auto.
    - intros z [<-|[]]; exact I.
  Qed.

  (** Without a step in between: from a plan of any horizon, a plan for ({y}, K', T') with T' at least as long. *)
  Definition kept_and_lengthened (p : Plan Input Name) (x : State) (y : Name) (K' T' : nat) : Plan Input Name :=
    let us := lengthened y x (branch_of y (branches p)) (S T') in
    {| nominal := us; branches := [(y, us)]; consensus := K'; horizon := T' |}.

  Theorem lengthened_plan_certified x p y K' T' :
    certified x p -> In y (options p) -> horizon p <= T' -> K' <= T' ->
    certified x (kept_and_lengthened p x y K' T').
  Proof.
    intros C I L M; apply branch_of_option in I.
    pose proof (recovery_length C I) as LB.
    pose proof (recovery_terminal C I) as T; rewrite <- LB in T.
    assert (LT : length (branch_of y (branches p)) <= S T') by lia.
    destruct (lengthened_recovers LT (recovery_admissible C I) T) as (R1 & R2 & R3).
    assert (B : forall z us, In (z, us) (branches (kept_and_lengthened p x y K' T')) ->
              z = y /\ us = lengthened y x (branch_of y (branches p)) (S T')).
    { intros z us [E|[]]; injection E as <- <-; auto. }
    constructor; simpl; auto.
    - discriminate.
    - repeat constructor; auto.
    - intros z us J; destruct (B _ _ J) as [-> ->]; exact R1.
    - intros z us J; destruct (B _ _ J) as [-> ->]; exact R2.
    - intros z us J; destruct (B _ _ J) as [-> ->]; exact R3.
    - intros z us J; destruct (B _ _ J) as [-> ->]; reflexivity.
    - intros z us w vs J J'; destruct (B _ _ J) as [-> ->]; destruct (B _ _ J') as [-> ->]; reflexivity.
  Qed.

  Lemma horizon_zero_plans_arrival x p y :
    certified x p -> In y (options p) -> horizon p = 0 -> XR y 1 (next x (first_input default_input p)).
  Proof.
    intros C I H; apply branch_of_option in I.
    destruct (certified_branch_starts_with_first_input default_input C I) as (rest & E & LR).
    pose proof (recovery_terminal C I) as T; rewrite E, H in T.
    rewrite H in LR; destruct rest; [exact T | discriminate].
  Qed.

  (** Once the horizon is 0 the next state is in the recovery set: where claim 3 comes from. *)
  Lemma horizon_zero_arrives x p x' y :
    certified x p -> plant x (send (first_input default_input p)) x' -> In y (options p) -> horizon p = 0 ->
    XR y 0 x'.
  Proof.
    intros C P I H; pose proof (horizon_zero_plans_arrival C I H) as T.
    destruct (certified_state_admissible default_input C) as [_ U0].
    pose proof (corrected_terminal works (us := []) U0 P T) as R; simpl in R.
    pose proof (corrected_length works (next x (first_input default_input p)) x' []) as L.
    destruct (corrected _ _ _); [exact R | discriminate].
  Qed.
End Eq3.
