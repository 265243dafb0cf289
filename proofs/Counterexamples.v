(** Four deliberately wrong versions of Theorem 1, and the proof of the negation of each.

    The first two are corners in which the paper's Theorem 1 is false as stated (theory 4). The last two say why
    consensus is inclusive and why the loop decides at t_anom + K + 1. Each is refuted by integers, and each says
    less than the theorem would (only that some inputs exist), so no algorithm can repair it. *)

From Coq Require Import List Arith ZArith Lia.
From Aesop Require Import Plans Theorem1.
Import ListNotations.
Set Implicit Arguments.

Section Trajectory.
  Variables State Input : Type.
  Variable f : State -> Input -> State.

  (** x_t from x0 under u_0, u_1, ... *)
  Fixpoint trajectory (x0 : State) (u : nat -> Input) (t : nat) : State :=
    match t with 0 => x0 | S t => f (trajectory x0 u t) (u t) end.
End Trajectory.

(** Two recovery sets, [true] and [false]; each a point. *)
Definition at_point (a b : Z) (y : bool) (z : Z) : Prop := z = if y then a else b.
Definition integrator (x u : Z) : Z := (x + u)%Z.
Definition everywhere (_ : Z) : Prop := True.
Definition unit_input (u : Z) : Prop := (-1 <= u <= 1)%Z.
Definition stand_still (_ : bool) (_ : Z) : Z := 0%Z.

Lemma points_are_invariant a b : control_invariant integrator everywhere unit_input (at_point a b) stand_still.
Proof. intros y z H; unfold everywhere, unit_input, stand_still, integrator, at_point in *; repeat split; lia. Qed.

Ltac admissible_by_computation :=
  let k := fresh in let u := fresh in let H := fresh in
  intros k u H; destruct k as [|[|[|k]]]; simpl in H; try discriminate; try (destruct k; discriminate);
  injection H as <-; unfold everywhere, unit_input; (split; [exact Logic.I | lia]).

(** * Corner 1: Y may be empty *)

(** Eq. (3) with Y empty allowed, as in the paper: a nominal branch and nothing else. *)
Definition feasible_allowing_no_option {State Input Name : Type} (f : State -> Input -> State) X U
    (X_R : Name -> State -> Prop) (x : State) (p : Plan Input Name) : Prop :=
  feasible f X U X_R x p
  \/ branches p = [] /\ consensus p <= horizon p /\ length (nominal p) = S (horizon p)
     /\ admissible_from f (fun _ => X) (fun _ => U) 0 x (nominal p).

Definition Theorem_1_with_Y_empty_allowed : Prop :=
  forall (State Input Name : Type) (f : State -> Input -> State) X U (X_R : Name -> State -> Prop) kappa,
    control_invariant f X U X_R kappa -> forall x0 p, feasible_allowing_no_option f X U X_R x0 p ->
    consensus p < horizon p ->
    (exists u, forall t, X (trajectory f x0 u t) /\ U (u t))                                  (* claim 1 *)
    /\ (exists y q, feasible f X U X_R x0 q /\ In y (options q)).                              (* claim 2 at t = 0 *)

(** Right of 0 a current carries the integrator away; X = (-infinity, 2] is left within two steps. *)
Definition carried_away (x u : Z) : Z := if (0 <? x)%Z then (x + 1)%Z else (x + u)%Z.

Theorem Y_empty_is_not_provable : ~ Theorem_1_with_Y_empty_allowed.
Proof.
  intros W.
  destruct (W Z Z bool carried_away (fun x => (x <= 2)%Z) unit_input (at_point 0 0) stand_still) with
    (x0 := 1%Z) (p := {| nominal := [0; 0]%Z; branches := []; consensus := 0; horizon := 1 |} : Plan Z bool)
    as [[u H] _].
  - intros y z E; unfold unit_input, stand_still, carried_away, at_point in *.
    assert (z = 0%Z) as -> by (destruct y; exact E); simpl; repeat split; try lia; destruct y; reflexivity.
  - right; split; [reflexivity|]; split; [simpl; lia|]; split; [reflexivity|].
    intros k v Hk; destruct k as [|[|k]]; simpl in Hk; try (destruct k; discriminate);
      injection Hk as <-; unfold unit_input, carried_away; simpl; lia.
  - simpl; lia.
  - destruct (H 2) as [H2 _]; simpl in H2; unfold carried_away in H2; simpl in H2; lia.
Qed.

(** Claim 2 is lost as well, at once: with every recovery set empty a nominal branch alone may be feasible. *)
Theorem Y_empty_loses_claim_2 :
  exists (f : Z -> Z -> Z) X U (X_R : bool -> Z -> Prop) kappa x0 p,
    control_invariant f X U X_R kappa /\ feasible_allowing_no_option f X U X_R x0 p
    /\ forall y q, feasible f X U X_R x0 q -> ~ In y (options q).
Proof.
  exists integrator, everywhere, unit_input, (fun _ _ => False), stand_still, 0%Z,
    {| nominal := [0; 0]%Z; branches := []; consensus := 0; horizon := 1 |}.
  split; [intros y z []|]; split.
  - right; split; [reflexivity|]; split; [simpl; lia|]; split; [reflexivity|]; admissible_by_computation.
  - intros y q F I; apply in_map_iff in I; destruct I as ([z us] & _ & I).
    exact (recovery_terminal F I).
Qed.

(** * Corner 2: the reasoner names a y outside Y_{t_anom} *)

Definition Theorem_1_with_any_y_accepted : Prop :=
  forall (State Input Name : Type) (f : State -> Input -> State) X U (X_R : Name -> State -> Prop) kappa,
    control_invariant f X U X_R kappa -> (forall y, exists z, X_R y z) ->
    forall x0 p, feasible f X U X_R x0 p -> consensus p < horizon p ->
    forall y, exists u, (forall t, U (u t)) /\ forall t, horizon p + 1 <= t -> X_R y (trajectory f x0 u t).

Definition stay_put (y : bool) : Plan Z bool :=
  {| nominal := [0; 0]%Z; branches := [(y, [0; 0]%Z)]; consensus := 0; horizon := 1 |}.

Lemma staying_put_is_feasible (a b : Z) (y : bool) :
  feasible integrator everywhere unit_input (at_point a b) (if y then a else b) (stay_put y).
Proof.
  constructor; simpl; auto; try discriminate;
    try match goal with |- admissible_from _ _ _ _ _ _ => admissible_by_computation end.
  - repeat constructor; auto.
  - intros z us [E|[]]; injection E as <- <-; reflexivity.
  - intros z us [E|[]]; injection E as <- <-; admissible_by_computation.
  - intros z us [E|[]]; injection E as <- <-; unfold at_point, integrator; simpl; lia.
  - intros z us [E|[]]; injection E as <- <-; reflexivity.
  - intros z us z' vs [E|[]] [E'|[]]; injection E as <- <-; injection E' as <- <-; reflexivity.
Qed.

(** One integrator, |u| <= 1: from 0, with Y = {true} and T = 1, the point 5 is not reached in two steps. *)
Theorem a_y_outside_Y_is_not_provable : ~ Theorem_1_with_any_y_accepted.
Proof.
  intros W; assert (points_exist : forall y, exists z, at_point 0 5 y z) by (intros y; eexists; reflexivity).
  destruct (W Z Z bool integrator everywhere unit_input (at_point 0 5) stand_still (@points_are_invariant 0 5)
              points_exist 0%Z (stay_put true) (@staying_put_is_feasible 0 5 true) ltac:(simpl; lia) false) as (u & HU & H).
  specialize (H 2 ltac:(simpl; lia)); simpl in H; unfold at_point, integrator in H.
  pose proof (HU 0); pose proof (HU 1); unfold unit_input in *; lia.
Qed.

(** * Exclusive consensus with a decision at K + 1 *)

(** Eq. (3) with consensus for k = 0..K-1 only. *)
Definition feasible_exclusive {State Input Name : Type} (f : State -> Input -> State) X U
    (X_R : Name -> State -> Prop) (x : State) (p : Plan Input Name) : Prop :=
  feasible f X U X_R x {| nominal := nominal p; branches := branches p; consensus := 0; horizon := horizon p |}
  /\ consensus p <= horizon p
  /\ forall y us z vs, In (y, us) (branches p) -> In (z, vs) (branches p) ->
     forall k, k < consensus p -> nth_error us k = nth_error vs k.

(** The paper's claim for a decision at t_anom + K + 1: K + 1 inputs are sent before the answer is known, and every
    option is still open (Theorem1.inclusive_consensus_keeps_options_open_until_the_deadline is the true one). *)
Definition Theorem_1_with_exclusive_consensus : Prop :=
  forall (State Input Name : Type) (f : State -> Input -> State) X U (X_R : Name -> State -> Prop) kappa,
    control_invariant f X U X_R kappa ->
    forall x0 p, feasible_exclusive f X U X_R x0 p -> consensus p < horizon p ->
    still_open_after f X U X_R (horizon p) (consensus p + 1) x0 (options p).

Definition two_branches (us vs : list Z) (K T : nat) : Plan Z bool :=
  {| nominal := us; branches := [(true, us); (false, vs)]; consensus := K; horizon := T |}.

Ltac two_cases :=
  repeat match goal with
  | H : _ \/ _ |- _ => destruct H
  | H : False |- _ => destruct H
  | H : (_, _) = (_, _) |- _ => injection H as <- <-
  end.

(** K = 1, T = 2, from 0 to 3 or to -1: only the first input can be shared. *)
Theorem exclusive_consensus_is_not_provable : ~ Theorem_1_with_exclusive_consensus.
Proof.
  intros W.
  destruct (W Z Z bool integrator everywhere unit_input (at_point 3 (-1)) stand_still (@points_are_invariant 3 (-1))
              0%Z (two_branches [1; 1; 1]%Z [1; -1; -1]%Z 1 2)) as (us & L & H).
  - split; [|split; [simpl; lia|]].
    + constructor; simpl; auto; try discriminate;
    try match goal with |- admissible_from _ _ _ _ _ _ => admissible_by_computation end.
      * repeat constructor; simpl; intuition discriminate.
      * intros y us I; two_cases; reflexivity.
      * intros y us I; two_cases; admissible_by_computation.
      * intros y us I; two_cases; reflexivity.
      * intros y us I; two_cases; reflexivity.
      * intros y us z vs I J k Lk; assert (k = 0) as -> by lia; two_cases; reflexivity.
    + simpl; intros y us z vs I J k Lk; assert (k = 0) as -> by lia; two_cases; reflexivity.
  - simpl; lia.
  - simpl in L; destruct us as [|a [|b [|c us]]]; try discriminate.
    destruct (H true) as (vs & L1 & A1 & R1); [simpl; auto|].
    destruct (H false) as (ws & L2 & A2 & R2); [simpl; auto|].
    destruct vs as [|v [|v' vs]]; try discriminate; destruct ws as [|w [|w' ws]]; try discriminate.
    pose proof (A1 0 a eq_refl) as [_ Ha]; pose proof (A1 1 b eq_refl) as [_ Hb].
    pose proof (A1 2 v eq_refl) as [_ Hv]; pose proof (A2 2 w eq_refl) as [_ Hw].
    simpl in R1, R2; unfold at_point, integrator, unit_input in *; lia.
Qed.

(** * No default at the deadline *)

(** Without a decision at t_anom + K + 1 one more input is sent before the answer is known. *)
Definition Theorem_1_without_default_at_the_deadline : Prop :=
  forall (State Input Name : Type) (f : State -> Input -> State) X U (X_R : Name -> State -> Prop) kappa,
    control_invariant f X U X_R kappa ->
    forall x0 p, feasible f X U X_R x0 p -> consensus p < horizon p ->
    still_open_after f X U X_R (horizon p) (consensus p + 2) x0 (options p).

(** K = 0, T = 1, from 0 to 1 or to -1: after two shared inputs one of them is missed. *)
Theorem no_default_at_the_deadline_is_not_provable : ~ Theorem_1_without_default_at_the_deadline.
Proof.
  intros W.
  destruct (W Z Z bool integrator everywhere unit_input (at_point 1 (-1)) stand_still (@points_are_invariant 1 (-1))
              0%Z (two_branches [0; 1]%Z [0; -1]%Z 0 1)) as (us & L & H).
  - constructor; simpl; auto; try discriminate;
    try match goal with |- admissible_from _ _ _ _ _ _ => admissible_by_computation end.
    + repeat constructor; simpl; intuition discriminate.
    + intros y us I; two_cases; reflexivity.
    + intros y us I; two_cases; admissible_by_computation.
    + intros y us I; two_cases; reflexivity.
    + intros y us I; two_cases; reflexivity.
    + intros y us z vs I J k Lk; assert (k = 0) as -> by lia; two_cases; reflexivity.
  - simpl; lia.
  - simpl in L; destruct us as [|a [|b [|c us]]]; try discriminate.
    destruct (H true) as (vs & L1 & A1 & R1); [simpl; auto|].
    destruct (H false) as (ws & L2 & A2 & R2); [simpl; auto|].
    destruct vs; [|discriminate]; destruct ws; [|discriminate].
    simpl in R1, R2; unfold at_point, integrator in *; lia.
Qed.

(** * The correction takes the planned input's next state, not the sent input's *)

(** The counterexample of spec/README.md in twentieths: x+ = 2 x + u, F = -2 (so Acl = 0), quantum 20, X = [-40, 40],
    and [-30, 30] from step 1 on. The plan 9, 12, -60 from 0 sends 0, so the next state is 0; the planned one is 9.
    kernel: plan.shifted_plan. *)
Definition doubling (x u : Z) : Z := (2 * x + u)%Z.
Definition tightened_interval (k : nat) (z : Z) : Prop :=
  match k with O => (-40 <= z <= 40)%Z | S _ => (-30 <= z <= 30)%Z end.
Definition any_input (_ : nat) (_ : Z) : Prop := True.

(** u_{k+1} + F Acl^k w for the inputs 12, -60. *)
Definition corrected_by (w : Z) : list Z := [12 + -2 * w; -60]%Z.

Theorem the_sent_input_does_not_correct :
  admissible_from doubling tightened_interval any_input 0 0%Z [9; 12; -60]%Z
  /\ admissible_from doubling tightened_interval any_input 0 0%Z (corrected_by (0 - 9) ++ [0])%Z
  /\ ~ admissible_from doubling tightened_interval any_input 0 0%Z (corrected_by (0 - 0) ++ [0])%Z.
Proof.
  unfold corrected_by, any_input; split; [|split].
  - intros [|[|[|k]]] u H; simpl in *; try discriminate; try (destruct k; discriminate);
      (split; [unfold doubling; simpl; lia | exact I]).
  - intros [|[|[|k]]] u H; simpl in *; try discriminate; try (destruct k; discriminate);
      (split; [unfold doubling; simpl; lia | exact I]).
  - intros H; destruct (H 2 0%Z eq_refl) as [B _]; simpl in B; unfold doubling in B; simpl in B; lia.
Qed.
