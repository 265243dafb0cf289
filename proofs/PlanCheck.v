(** The plan check as a computable function, and the proof that it decides Eq. (3).

    kernel: plan.check_plan. Sets are given by Boolean tests that may depend on the step k. *)

From Coq Require Import List Arith Bool Lia.
From Aesop Require Import Plans.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.

Section PlanCheck.
  Variables State Input Name : Type.
  Variable next : State -> Input -> State.
  Variable in_XS : nat -> State -> bool.
  Variable in_US : nat -> Input -> bool.
  Variable in_XR : Name -> nat -> State -> bool.
  Variable input_eq_dec : forall u v : Input, {u = v} + {u <> v}.
  Variable name_eq_dec : forall a b : Name, {a = b} + {a <> b}.

  Fixpoint distinct (Y : list Name) : bool :=
    match Y with [] => true | y :: Y => (if in_dec name_eq_dec y Y then false else true) && distinct Y end.

  (** The kernel rolls the branch out itself, from the measured state (theory 1). *)
  Fixpoint check_admissible (k : nat) (x : State) (us : list Input) : bool :=
    match us with [] => true | u :: us => in_XS k x && in_US k u && check_admissible (S k) (next x u) us end.

  Definition same_prefix (count : nat) (us vs : list Input) : bool :=
    if list_eq_dec input_eq_dec (firstn count us) (firstn count vs) then true else false.

  Definition check_branch (x : State) (p : Plan Input Name) (branch : Name * list Input) : bool :=
    let (y, us) := branch in
    Nat.eqb (length us) (S (horizon p)) && check_admissible 0 x us && in_XR y (S (horizon p)) (roll next x us)
    && same_prefix 1 us (nominal p).

  Definition check_plan (x : State) (p : Plan Input Name) : bool :=
    distinct (options p) && (consensus p <=? horizon p)
    && Nat.eqb (length (nominal p)) (S (horizon p)) && check_admissible 0 x (nominal p)
    && forallb (check_branch x p) (branches p)
    && match branches p with
       | [] => false
       | (_, reference) :: _ => forallb (fun branch => same_prefix (S (consensus p)) (snd branch) reference) (branches p)
       end.

  Variable XS : nat -> State -> Prop.
  Variable US : nat -> Input -> Prop.
  Variable XR : Name -> nat -> State -> Prop.
  Hypothesis XS_spec : forall k x, in_XS k x = true <-> XS k x.
  Hypothesis US_spec : forall k u, in_US k u = true <-> US k u.
  Hypothesis XR_spec : forall y k x, in_XR y k x = true <-> XR y k x.

  Lemma distinct_spec Y : distinct Y = true <-> NoDup Y.
  Proof.
    induction Y as [|y Y IH]; simpl; [split; auto using NoDup_nil|].
    rewrite andb_true_iff, IH; destruct (in_dec name_eq_dec y Y) as [I|N]; split; intros H.
    - destruct H; discriminate.
    - inversion H; contradiction.
    - constructor; tauto.
    - inversion H; auto.
  Qed.

  Lemma check_admissible_spec us : forall k x, check_admissible k x us = true <-> admissible_from next XS US k x us.
  Proof.
    induction us as [|u us IH]; intros k x; simpl.
    - split; auto; intros _; apply admissible_nil.
    - rewrite !andb_true_iff, XS_spec, US_spec, IH, admissible_cons; tauto.
  Qed.

  Lemma same_prefix_spec count us vs :
    same_prefix count us vs = true <-> (forall k, k < count -> nth_error us k = nth_error vs k).
  Proof.
    unfold same_prefix; destruct (list_eq_dec _ _ _) as [E|N]; split; intros H; try discriminate; auto.
    - intros k L; rewrite <- (nth_error_of_prefix us L), E; apply nth_error_of_prefix; exact L.
    - destruct N; clear -H; revert us vs H; induction count as [|n IH]; intros us vs H; [reflexivity|].
      pose proof (H 0 ltac:(lia)) as H0.
      destruct us as [|u us], vs as [|v vs]; simpl in H0; try discriminate; [reflexivity|].
      injection H0 as ->; simpl; f_equal; apply IH; intros k L; apply (H (S k)); lia.
  Qed.

  Theorem check_plan_decides x p : check_plan x p = true <-> certified next XS US XR x p.
  Proof.
    unfold check_plan; rewrite !andb_true_iff, distinct_spec, Nat.leb_le, Nat.eqb_eq, check_admissible_spec, forallb_forall.
    split.
    - intros [[[[[D L] LN] AN] Br] Co].
      assert (H : forall y us, In (y, us) (branches p) ->
        length us = S (horizon p) /\ admissible_from next XS US 0 x us /\ XR y (S (horizon p)) (roll next x us)
        /\ nth_error us 0 = nth_error (nominal p) 0).
      { intros y us I; specialize (Br _ I); simpl in Br.
        rewrite !andb_true_iff, Nat.eqb_eq, check_admissible_spec, XR_spec, same_prefix_spec in Br.
        destruct Br as [[[B1 B2] B3] B4]; split; [exact B1 | split; [exact B2 | split; [exact B3 | apply B4; lia]]]. }
      destruct (branches p) as [|[y0 ref] bs] eqn:E; [discriminate|]; rewrite forallb_forall in Co.
      assert (C : forall y us, In (y, us) (branches p) -> forall k, k <= consensus p -> nth_error us k = nth_error ref k).
      { intros y us I k Lk; rewrite E in I; specialize (Co _ I); rewrite same_prefix_spec in Co; apply Co; lia. }
      rewrite <- E in *; constructor; auto; try (intros y us I; apply (H y us I)).
      + rewrite E; discriminate.
      + intros y us z vs I J k Lk; rewrite (C y us I k Lk), (C z vs J k Lk); reflexivity.
    - intros C; split; [split; [split; [split; [split|]|]|]|]; try apply C.
      + intros [y us] I; simpl.
        rewrite !andb_true_iff, Nat.eqb_eq, check_admissible_spec, XR_spec, same_prefix_spec.
        split; [split; [split|]|].
        * apply (recovery_length C I).
        * apply (recovery_admissible C I).
        * apply (recovery_terminal C I).
        * intros k Lk; assert (k = 0) as -> by lia; apply (first_input_shared C I).
      + destruct (branches p) as [|[y0 ref] bs] eqn:E; [destruct (some_option C E)|].
        apply forallb_forall; intros [y us] I; apply same_prefix_spec; intros k Lk; rewrite <- E in I.
        apply (consensus_inclusive C (y := y) (us := us) (z := y0) (vs := ref)); [exact I | rewrite E; left; reflexivity | lia].
  Qed.
End PlanCheck.
