(** The tightened sets, all of them computed once as the kernel keeps them, and the plan check on them.

    kernel: model.Tightening, plan.check_plan. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Plans Machine Robust Vectors Farkas Independence Disturbance PlanCheck Rounding Kernel.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

Section Sides.
  Variables n m p : nat.
  Variable A : matrix n n.
  Variable B : matrix n m.
  Variable F : matrix m n.
  Variable W : list (Summand n).
  Variable start : point p -> point n.

  (** A facet's normal, the row whose support comes next, and the right-hand side so far. *)
  Definition Side : Type := (point p * point n * Qc)%type.

  Definition next_sides : list Side -> list Side :=
    map (fun side => let '(g, row, h) := side in (g, row_acl A B F row, h - support W row)).

  Definition polytope_of : list Side -> polytope p := map (fun side => let '(g, _, h) := side in (g, h)).

  Fixpoint all_sides (sides : list Side) (count : nat) : list (polytope p) :=
    match count with O => [] | S count => polytope_of sides :: all_sides (next_sides sides) count end.

  Definition first_sides (P : polytope p) : list Side := map (fun row => (fst row, start (fst row), snd row)) P.

  Lemma row_power_commutes k g : row_acl A B F (row_power A B F k g) = row_power A B F k (row_acl A B F g).
  Proof. revert g; induction k as [|k IH]; intros g; simpl; [reflexivity | apply IH]. Qed.

  Definition sides_at (P : polytope p) (k : nat) : list Side :=
    map (fun row => (fst row, row_power A B F k (start (fst row)), snd row - tube_support A B F W k (start (fst row)))) P.

  Lemma next_of_sides_at P k : next_sides (sides_at P k) = sides_at P (S k).
  Proof.
    unfold next_sides, sides_at; rewrite map_map; apply map_ext; intros [g h]; simpl.
    rewrite row_power_commutes; f_equal; ring.
  Qed.

  Lemma all_sides_nth P count k j : (k < count)%nat ->
    nth_error (all_sides (sides_at P j) count) k = Some (polytope_of (sides_at P (j + k))).
  Proof.
    revert k j; induction count as [|count IH]; intros k j L; [lia|]; destruct k as [|k]; simpl.
    - rewrite Nat.add_0_r; reflexivity.
    - rewrite next_of_sides_at, (IH k (S j)) by lia; do 3 f_equal; lia.
  Qed.

  Lemma first_sides_are_sides_at_0 P : first_sides P = sides_at P 0.
  Proof. unfold first_sides, sides_at; apply map_ext; intros [g h]; simpl; f_equal; ring. Qed.
End Sides.

Section System.
  Variables n m : nat.
  Notation Name := nat.                             (* the index of a recovery set in the file *)
  Variable sys : ExactSystem n m Name.

  Notation W := (total_disturbance sys).
  Notation sides := (all_sides (A sys) (B sys) (F sys) W).

  Definition state_side_list (P : polytope n) (count : nat) : list (polytope n) := sides (first_sides (fun g => g) P) count.
  Definition input_side_list (count : nat) : list (polytope m) :=
    sides (first_sides (fun g => vec_mat g (F sys)) (input_set sys)) count.

  Lemma state_side_list_nth P count k : (k < count)%nat ->
    nth_error (state_side_list P count) k = Some (tightened (A sys) (B sys) (F sys) W P k).
  Proof.
    intros L; unfold state_side_list; rewrite (first_sides_are_sides_at_0 (A sys) (B sys) (F sys) W), all_sides_nth by exact L.
    unfold polytope_of, sides_at, tightened; rewrite map_map; reflexivity.
  Qed.

  Lemma input_side_list_nth count k : (k < count)%nat ->
    nth_error (input_side_list count) k = Some (tightened_inputs (A sys) (B sys) (F sys) W (input_set sys) k).
  Proof.
    intros L; unfold input_side_list; rewrite (first_sides_are_sides_at_0 (A sys) (B sys) (F sys) W), all_sides_nth by exact L.
    unfold polytope_of, sides_at, tightened_inputs; rewrite map_map; reflexivity.
  Qed.

  (** All tightened sets, computed once: X - R_k, U - F R_k, X_R^y - R_k for k = 0..T+1. kernel: model.Tightening. *)
  Record Sets : Type := {
    state_sets : list (polytope n);
    input_sets : list (polytope m);
    recovery_tubes : list (Name * list (polytope n))
  }.

  Definition all_sets : Sets := {|
    state_sets := state_side_list (X sys) (T sys + 2);
    input_sets := input_side_list (T sys + 2);
    recovery_tubes := map (fun yr => (fst yr, state_side_list (region (snd yr)) (T sys + 2))) (recovery_sets sys)
  |}.

  Fixpoint tube_of (y : Name) (tubes : list (Name * list (polytope n))) : option (list (polytope n)) :=
    match tubes with [] => None | (z, t) :: tubes => if Nat.eq_dec z y then Some t else tube_of y tubes end.

  Definition member_at {d} (sets : list (polytope d)) (k : nat) (x : point d) (otherwise : bool) : bool :=
    match nth_error sets k with Some P => check_contains P x | None => otherwise end.

  Definition quick_check_plan (s : Sets) : point n -> Plan (point m) Name -> bool :=
    check_plan (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys))
      (fun k x => member_at (state_sets s) k x false) (fun k u => member_at (input_sets s) k u false)
      (fun y k x => match tube_of y (recovery_tubes s) with Some t => member_at t k x false | None => false end)
      (fun u v : point m => vec_eq_dec u v) Nat.eq_dec.

  (** The test with precomputed sets is the kernel's test (the precomputed ones end at T + 1). *)
  Lemma check_plan_ext xs us xr xs' us' xr' x (p : Plan (point m) Name) :
    (forall k z, (k <= horizon p)%nat -> xs k z = xs' k z) -> (forall k u, (k <= horizon p)%nat -> us k u = us' k u) ->
    (forall y k z, (k <= S (horizon p))%nat -> xr y k z = xr' y k z) ->
    check_plan (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)) xs us xr
      (fun u v : point m => vec_eq_dec u v) Nat.eq_dec x p
    = check_plan (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)) xs' us' xr'
      (fun u v : point m => vec_eq_dec u v) Nat.eq_dec x p.
  Proof.
    intros EX EU ER.
    assert (EA : forall l k z, (k + length l <= S (horizon p))%nat ->
      check_admissible (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)) xs us k z l
      = check_admissible (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)) xs' us' k z l).
    { induction l as [|u l IH]; intros k z L; [reflexivity|]; simpl in *.
      rewrite EX, EU by lia; rewrite IH by lia; reflexivity. }
    unfold check_plan; destruct (Nat.eqb_spec (length (nominal p)) (S (horizon p))) as [L|L].
    - rewrite EA by lia; do 2 f_equal.
      assert (EB : forall l, forallb (check_branch (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)) xs us xr
          (fun u v : point m => vec_eq_dec u v) x p) l
        = forallb (check_branch (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)) xs' us' xr'
          (fun u v : point m => vec_eq_dec u v) x p) l); [|apply EB].
      induction l as [|[y us0] l IH]; [reflexivity|]; simpl; rewrite IH; f_equal.
      destruct (Nat.eqb_spec (length us0) (S (horizon p))) as [L0|L0]; [|reflexivity].
      rewrite EA by lia; rewrite ER by lia; reflexivity.
    - rewrite !andb_false_r; reflexivity.
  Qed.

  Lemma tube_of_all y : tube_of y (recovery_tubes all_sets)
    = match recovery Nat.eq_dec sys y with Some r => Some (state_side_list (region r) (T sys + 2)) | None => None end.
  Proof.
    unfold all_sets, recovery; cbn [recovery_tubes]; induction (recovery_sets sys) as [|[z r] l IH]; simpl; [reflexivity|].
    destruct (Nat.eq_dec z y); [reflexivity | exact IH].
  Qed.

  Theorem quick_check_plan_is_the_kernels x p : (horizon p <= T sys)%nat ->
    quick_check_plan all_sets x p = kernel_check_plan Nat.eq_dec sys x p.
  Proof.
    intros L; unfold quick_check_plan, kernel_check_plan; apply check_plan_ext.
    - intros k z Lk; unfold member_at, all_sets; cbn [state_sets].
      rewrite state_side_list_nth by lia; reflexivity.
    - intros k u Lk; unfold member_at, all_sets; cbn [input_sets].
      rewrite input_side_list_nth by lia; reflexivity.
    - intros y k z Lk; rewrite tube_of_all; unfold in_XR; destruct (recovery Nat.eq_dec sys y) as [r|]; [|reflexivity].
      unfold member_at; rewrite state_side_list_nth by lia; reflexivity.
  Qed.
End System.
