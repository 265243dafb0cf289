(** What the checker command answers for each kind of certificate file, and what its answers mean.

    These functions are extracted to OCaml (Extract.v); the command reads a file, calls one of them and prints the
    outcome. The kinds are those of aesop_verified/evidence/certificates.py. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Plans Machine Robust Vectors Farkas Independence Disturbance PlanCheck Rounding Kernel.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

(** a <= b, under a name of its own for the command. *)
Definition not_above (a b : Qc) : bool := leb a b.

(** As in aesop_verified/evidence/recheck.py: refused is evidence that shows nothing. *)
Inductive Outcome : Type := Proved | Refuted | Refused.

(** * Sets *)

Inductive Evidence (n : nat) : Type := Rows (L : list (list Qc)) | Witness (x : point n).
Arguments Rows {n}.

Definition inclusion_outcome {n p} (inner : polytope n) (outer : polytope p) (M : matrix p n) (c : point p)
    (margin : list Qc) (e : Evidence n) : Outcome :=
  match e with
  | Rows L => if check_inclusion inner outer L M c margin then Proved else Refused
  | Witness x => if check_escape inner outer M c margin x then Refuted else Refused
  end.

Theorem inclusion_proved n p (inner : polytope n) (outer : polytope p) M c margin e :
  inclusion_outcome inner outer M c margin e = Proved ->
  forall x, contains inner x -> forall i g h m, nth_error outer i = Some (g, h) -> nth_error margin i = Some m ->
    dot g (vadd (mat_vec M x) c) + m <= h.
Proof.
  destruct e as [L|x]; simpl.
  - destruct (check_inclusion _ _ _ _ _ _) eqn:E; [intros _; apply (check_inclusion_sound E) | discriminate].
  - destruct (check_escape _ _ _ _ _ _); discriminate.
Qed.

Theorem inclusion_refuted n p (inner : polytope n) (outer : polytope p) M c margin e :
  inclusion_outcome inner outer M c margin e = Refuted ->
  exists x, contains inner x /\ exists i g h m, nth_error outer i = Some (g, h) /\ nth_error margin i = Some m
    /\ h < dot g (vadd (mat_vec M x) c) + m.
Proof.
  destruct e as [L|x]; simpl.
  - destruct (check_inclusion _ _ _ _ _ _); discriminate.
  - destruct (check_escape _ _ _ _ _ _) eqn:E; [intros _; exists x; apply (check_escape_sound E) | discriminate].
Qed.

Definition emptiness_outcome {n} (P : polytope n) (e : Evidence n) : Outcome :=
  match e with
  | Rows [l] => if check_empty P l then Proved else Refused
  | Rows _ => Refused
  | Witness x => if check_contains P x then Refuted else Refused
  end.

Theorem emptiness_proved n (P : polytope n) e : emptiness_outcome P e = Proved -> forall x, ~ contains P x.
Proof.
  destruct e as [[|l [|]]|x]; simpl; try discriminate.
  - destruct (check_empty P l) eqn:E; [intros _; apply (check_empty_sound E) | discriminate].
  - destruct (check_contains P x); discriminate.
Qed.

Theorem emptiness_refuted n (P : polytope n) e : emptiness_outcome P e = Refuted -> exists x, contains P x.
Proof.
  destruct e as [[|l [|]]|x]; simpl; try discriminate.
  - destruct (check_empty P l); discriminate.
  - destruct (check_contains P x) eqn:E; [intros _; exists x; apply check_contains_decides, E | discriminate].
Qed.

(** Bounds in the order +x_1, -x_1, +x_2, ..., each with its multipliers. *)
Fixpoint box_rows (bounds : list Qc) (L : list (list Qc)) : option (list (Qc * list Qc * Qc * list Qc)) :=
  match bounds, L with
  | [], [] => Some []
  | up :: low :: bounds, lu :: ll :: L =>
      match box_rows bounds L with Some rows => Some ((up, lu, low, ll) :: rows) | None => None end
  | _, _ => None
  end.

Inductive BoundEvidence (n : nat) : Type :=
| Box (bounds : list Qc) (L : list (list Qc))
| Empty (L : list (list Qc))
| Ray (x direction : point n).
Arguments Box {n}. Arguments Empty {n}.

Definition check_ray {n} (P : polytope n) (x d : point n) : bool :=
  check_contains P x && (if vec_eq_dec d (vzero n) then false else true) && forallb (fun row => leb (dot (fst row) d) 0) P.

Definition boundedness_outcome {n} (P : polytope n) (e : BoundEvidence n) : Outcome :=
  match e with
  | Box bounds L => match box_rows bounds L with
                    | Some rows => if check_box P 0 rows then Proved else Refused
                    | None => Refused
                    end
  | Empty [l] => if check_empty P l then Proved else Refused
  | Empty _ => Refused
  | Ray x d => if check_ray P x d then Refuted else Refused
  end.

Theorem boundedness_proved n (P : polytope n) e : boundedness_outcome P e = Proved ->
  exists bound : nat -> Qc * Qc, forall x, contains P x -> forall i, (i < n)%nat ->
    fst (bound i) <= coordinate i x /\ coordinate i x <= snd (bound i).
Proof.
  destruct e as [bounds L|[|l [|]]|x d]; simpl; try discriminate.
  - destruct (box_rows bounds L) as [rows|]; [|discriminate].
    destruct (check_box P 0 rows) eqn:E; [intros _; apply (check_box_sound E) | discriminate].
  - destruct (check_empty P l) eqn:E; [|discriminate].
    intros _; exists (fun _ => (0, 0)); intros x C; destruct (check_empty_sound E C).
  - destruct (check_ray P x d); discriminate.
Qed.

(** The set contains a ray. *)
Theorem boundedness_refuted n (P : polytope n) e : boundedness_outcome P e = Refuted ->
  exists x d, d <> vzero n /\ forall s, 0 <= s -> contains P (vadd x (vscale s d)).
Proof.
  destruct e as [bounds L|[|l [|]]|x d]; simpl; try discriminate.
  - destruct (box_rows bounds L) as [rows|]; [|discriminate]; destruct (check_box P 0 rows); discriminate.
  - destruct (check_empty P l); discriminate.
  - destruct (check_ray P x d) eqn:E; [intros _; exists x, d | discriminate].
    unfold check_ray in E; rewrite !andb_true_iff, check_contains_decides, forallb_forall in E; destruct E as [[C N] H].
    destruct (vec_eq_dec d (vzero n)); [discriminate|]; split; [assumption|].
    intros s Hs g h I; rewrite dot_add, dot_scale; pose proof (H (g, h) I) as L; simpl in L; apply leb_spec in L.
    pose proof (mult_le_nonneg Hs L) as M; rewrite Qcmult_0_r in M; pose proof (C g h I) as B.
    set (a := dot g x) in *; set (b := s * dot g d) in *; qc_order.
Qed.

Definition support_outcome {n} (P : polytope n) (direction maximiser : point n) (L : list (list Qc)) : Outcome :=
  match L with [l] => if check_support P direction maximiser l then Proved else Refused | _ => Refused end.

Theorem support_proved n (P : polytope n) direction maximiser L : support_outcome P direction maximiser L = Proved ->
  contains P maximiser /\ forall x, contains P x -> dot direction x <= dot direction maximiser.
Proof.
  destruct L as [|l [|]]; simpl; try discriminate.
  destruct (check_support _ _ _ _) eqn:E; [intros _; apply (check_support_sound E) | discriminate].
Qed.

(** Members and equalities for the dimension d, or multipliers that show emptiness (claimed as [None], -1 in a file). *)
Inductive DimensionEvidence (n : nat) : Type :=
| Spanning (points : list (point n)) (normals : list (point n * Qc)) (upper lower : list (list Qc))
| NoMember (L : list (list Qc)).
Arguments NoMember {n}.

Definition dimension_outcome {n} (P : polytope n) (claimed : option nat) (e : DimensionEvidence n) : Outcome :=
  match e, claimed with
  | Spanning points normals upper lower, Some d =>
      if check_dimension P points normals upper lower && Nat.eqb d (length points - 1) then Proved else Refused
  | NoMember [l], None => if check_empty P l then Proved else Refused
  | _, _ => Refused
  end.

Theorem dimension_proved n (P : polytope n) claimed e : dimension_outcome P claimed e = Proved ->
  match claimed with Some d => has_dimension P d | None => forall x, ~ contains P x end.
Proof.
  destruct e as [points normals upper lower|[|l [|]]], claimed as [d|]; simpl; try discriminate.
  - destruct (check_dimension _ _ _ _ _) eqn:E; [|discriminate]; simpl.
    destruct (Nat.eqb_spec d (length points - 1)) as [->|]; [intros _; apply (check_dimension_sound E) | discriminate].
  - destruct (check_empty P l) eqn:E; [intros _; apply (check_empty_sound E) | discriminate].
Qed.

(** * Tightened sides, all of them once, as the kernel keeps them *)

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

  Definition plan_outcome (s : Sets) (x : point n) (p : Plan (point m) Name) : Outcome :=
    if (horizon p <=? T sys)%nat then (if quick_check_plan s x p then Proved else Refuted) else Refused.

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

  Notation feasible := (Robust.robustly_feasible (vectors n) (vectors m) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)
    (mat_vec (F sys)) (in_sum W) (contains (X sys)) (contains (input_set sys)) (X_R Nat.eq_dec sys)).

  (** What [System.__post_init__] refuses, apart from shapes. *)
  Definition system_accepted : bool :=
    well_formed (declared sys) && well_formed (estimate_error sys)
    && forallb (fun s => box_allows_zero (lower s) (upper s)) (estimate_error sys)
    && leb 0 (quantum sys) && (K sys <? T sys)%nat && distinct Nat.eq_dec (system_names sys)
    && (forallb summand_is_zero W || forallb (fun yr => if matrix_eq_dec (law_gain (snd yr)) (F sys) then true else false)
                                       (recovery_sets sys)).

  Lemma accepted_is_ordered : system_accepted = true -> well_formed W = true.
  Proof.
    unfold system_accepted; rewrite !andb_true_iff; intros [[[[[[H1 H2] _] H4] _] _] _]; apply leb_spec in H4.
    exact (total_disturbance_is_ordered H1 H2 H4).
  Qed.

  Theorem plan_outcome_sound x p : system_accepted = true ->
    (plan_outcome all_sets x p = Proved -> feasible x p) /\ (plan_outcome all_sets x p = Refuted -> ~ feasible x p).
  Proof.
    intros Ok; apply accepted_is_ordered in Ok; unfold plan_outcome; destruct (Nat.leb_spec (horizon p) (T sys)) as [L|L];
      [|split; discriminate].
    rewrite quick_check_plan_is_the_kernels by exact L.
    pose proof (@kernel_check_plan_decides n m Name Nat.eq_dec sys Ok x p) as D.
    destruct (kernel_check_plan Nat.eq_dec sys x p); split; try discriminate; intros _.
    - apply D; reflexivity.
    - intros Fe; apply D in Fe; discriminate.
  Qed.

  (** ** Recovery sets *)

  Definition first_not_proved (os : list Outcome) : Outcome :=
    fold_right (fun o rest => match o with Proved => rest | _ => o end) Proved os.

  Definition recovery_set_outcome (r : RecoverySet n m) (x : point n) (inv ins law : Evidence n) : Outcome :=
    if check_contains (region r) x then
      first_not_proved [
        inclusion_outcome (region r) (region r) (mat_add (A sys) (mat_mul (B sys) (law_gain r)))
          (vadd (mat_vec (B sys) (law_offset r)) (b sys)) (map (fun row => support W (fst row)) (region r)) inv;
        inclusion_outcome (region r) (X sys) (identity n) (vzero n) (map (fun _ => 0) (X sys)) ins;
        inclusion_outcome (region r) (input_set sys) (law_gain r) (law_offset r) (map (fun _ => 0) (input_set sys)) law]
    else Refused.

  Theorem recovery_set_proved r x inv ins law : recovery_set_outcome r x inv ins law = Proved ->
    forall z, contains (region r) z -> contains (X sys) z /\ contains (input_set sys) (law_of r z)
      /\ forall w, in_sum W w ->
         contains (region r) (vadd (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys) z (law_of r z)) w).
  Proof.
    unfold recovery_set_outcome; destruct (check_contains (region r) x) eqn:C; [|discriminate]; simpl.
    destruct inv as [L1|?]; cbn [inclusion_outcome]; [|destruct (check_escape _ _ _ _ _ _); discriminate].
    destruct (check_inclusion _ _ L1 _ _ _) eqn:E1; [|discriminate].
    destruct ins as [L2|?]; cbn [inclusion_outcome]; [|destruct (check_escape _ _ _ _ _ _); discriminate].
    destruct (check_inclusion _ _ L2 _ _ _) eqn:E2; [|discriminate].
    destruct law as [L3|?]; cbn [inclusion_outcome]; [|destruct (check_escape _ _ _ _ _ _); discriminate].
    destruct (check_inclusion _ _ L3 _ _ _) eqn:E3; [|discriminate]; intros _.
    apply (@check_recovery_set_sound n m Name sys r {| member := x; invariance_rows := L1; inside_rows := L2; law_rows := L3 |}).
    unfold check_recovery_set; simpl; rewrite C, E1, E2, E3; reflexivity.
  Qed.

  (** ** Members of the tightened sets *)

  Fixpoint members_outcome {d} (sets : list (polytope d)) (points : list (point d)) : Outcome :=
    match sets, points with
    | _, [] => Proved
    | P :: sets, x :: points => if check_contains P x then members_outcome sets points else Refused
    | [], _ => Refused
    end.

  Theorem members_proved d (sets : list (polytope d)) points : members_outcome sets points = Proved ->
    forall k x, nth_error points k = Some x -> exists P, nth_error sets k = Some P /\ contains P x.
  Proof.
    revert sets; induction points as [|y points IH]; intros sets H k x E; [destruct k; discriminate|].
    destruct sets as [|P sets]; simpl in H; [discriminate|].
    destruct (check_contains P y) eqn:C; [|discriminate]; destruct k as [|k]; simpl in *.
    - injection E as <-; exists P; split; [reflexivity | apply check_contains_decides, C].
    - exact (IH sets H k x E).
  Qed.

  (** ** A plan at every vertex of a box *)

  Fixpoint vertices {d} : point d -> point d -> list (point d) :=
    match d with
    | O => fun _ _ => [tt]
    | S d => fun l u => let rest := vertices (snd l) (snd u) in
        map (fun v => (fst l, v)) rest ++ (if Qc_eq_dec (fst l) (fst u) then [] else map (fun v => (fst u, v)) rest)
    end.

  Definition plan_at (plans : list (point n * Plan (point m) Name)) (v : point n) : option (Plan (point m) Name) :=
    match find (fun xp => if vec_eq_dec (fst xp) v then true else false) (rev plans) with Some (_, p) => Some p | None => None end.

  Definition vertices_outcome (s : Sets) (l u : point n) (plans : list (point n * Plan (point m) Name)) : Outcome :=
    match plans with
    | [] => Refused
    | (_, p0) :: _ =>
        let shape_ok p := (if list_eq_dec Nat.eq_dec (options p) (options p0) then true else false)
                          && Nat.eqb (consensus p) (K sys) && Nat.eqb (horizon p) (T sys) in
        if forallb (fun xp => shape_ok (snd xp)) plans
           && forallb (fun v => match plan_at plans v with Some p => quick_check_plan s v p | None => false end) (vertices l u)
        then Proved else Refused
    end.

  Theorem vertices_proved l u plans : system_accepted = true -> vertices_outcome all_sets l u plans = Proved ->
    exists Y, forall v, In v (vertices l u) ->
      exists p, options p = Y /\ consensus p = K sys /\ horizon p = T sys /\ feasible v p.
  Proof.
    intros Ok; apply accepted_is_ordered in Ok; unfold vertices_outcome; destruct plans as [|[x0 p0] rest] eqn:EP; [discriminate|].
    rewrite <- EP; destruct (_ && _) eqn:E; [|discriminate]; intros _; apply andb_true_iff in E; destruct E as [Sh V].
    rewrite forallb_forall in Sh, V; exists (options p0); intros v I; specialize (V v I).
    unfold plan_at in V; destruct (find _ (rev plans)) as [[x p]|] eqn:Fd; [|discriminate].
    apply find_some in Fd; destruct Fd as [J _]; apply in_rev in J; specialize (Sh _ J); simpl in Sh.
    rewrite !andb_true_iff, !Nat.eqb_eq in Sh; destruct Sh as [[SO SK] ST].
    destruct (list_eq_dec _ (options p) (options p0)) as [EO|]; [|discriminate].
    exists p; split; [exact EO|]; split; [exact SK|]; split; [exact ST|].
    rewrite quick_check_plan_is_the_kernels in V by lia.
    apply (@kernel_check_plan_decides n m Name Nat.eq_dec sys Ok v p); exact V.
  Qed.
  (** ** The loop itself, with best-effort inputs projected from the law at a member of the first recovery set *)

  Definition replayed (x : point n) : Machine.System (point n) (point m) Name :=
    loop Nat.eq_dec sys [{| member := x; invariance_rows := []; inside_rows := []; law_rows := [] |}] (fun _ => true) 0%nat.
End System.
