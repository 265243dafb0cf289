(** What the checker command answers for certificate files about a system, and what its answers mean: plans, recovery
    sets, members of the tightened sets, plans at the vertices of a box. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Plans Machine Robust Vectors Farkas Independence Disturbance PlanCheck Rounding Kernel SetCertificates TightenedSets.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

Section System.
  Variables n m : nat.
  Notation Name := nat.                             (* the index of a recovery set in the file *)
  Variable sys : ExactSystem n m Name.

  Notation W := (total_disturbance sys).

  Definition plan_outcome (s : Sets n m) (x : point n) (p : Plan (point m) Name) : Outcome :=
    if (horizon p <=? T sys)%nat then (if quick_check_plan sys s x p then Proved else Refuted) else Refused.

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
    (plan_outcome (all_sets sys) x p = Proved -> feasible x p) /\ (plan_outcome (all_sets sys) x p = Refuted -> ~ feasible x p).
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

  (** The command says refuted only when a state of the set, with a disturbance of W, really shows it. *)
  Theorem recovery_set_refuted r x inv ins law : system_accepted = true -> recovery_set_outcome r x inv ins law = Refuted ->
    exists z, contains (region r) z /\ (~ contains (X sys) z \/ ~ contains (input_set sys) (law_of r z)
      \/ exists w, in_sum W w /\
           ~ contains (region r) (vadd (Robust.model (vectors n) (mat_vec (A sys)) (mat_vec (B sys)) (b sys) z (law_of r z)) w)).
  Proof.
    intros Ok; apply accepted_is_ordered in Ok; unfold recovery_set_outcome; destruct (check_contains (region r) x); [|discriminate].
    assert (First : forall o os, first_not_proved (o :: os) = Refuted -> o = Refuted \/ first_not_proved os = Refuted).
    { intros [] os H; auto. }
    assert (Zero : forall q (P : polytope q) i v, nth_error (map (fun _ => 0) P) i = Some v -> v = 0).
    { intros q P i v E; apply nth_error_In, in_map_iff in E; destruct E as (? & E & _); auto. }
    intros H; apply First in H; destruct H as [H|H]; [|apply First in H; destruct H as [H|H]; [|apply First in H; destruct H as [H|H]]];
      [| | |discriminate]; apply inclusion_refuted in H; destruct H as (z & Z & i & g & h & v & E & Ev & L);
      exists z; (split; [exact Z|]); pose proof (nth_error_In _ _ E) as I.
    - right; right; rewrite (map_nth_error (fun row => support W (fst row)) i _ E) in Ev; injection Ev as <-.
      destruct (support_attained g Ok) as (w & Hw & Ew); exists w; split; [exact Hw|]; intros C; specialize (C g h I).
      rewrite law_moves_the_model, dot_add, Ew in C; exact (Qclt_not_le _ _ L C).
    - left; intros C; specialize (C g h I); rewrite (Zero _ _ _ _ Ev), mat_vec_identity, vadd_zero, Qcplus_0_r in L.
      exact (Qclt_not_le _ _ L C).
    - right; left; intros C; specialize (C g h I); rewrite (Zero _ _ _ _ Ev), Qcplus_0_r in L; exact (Qclt_not_le _ _ L C).
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

  Definition vertices_outcome (s : Sets n m) (l u : point n) (plans : list (point n * Plan (point m) Name)) : Outcome :=
    match plans with
    | [] => Refused
    | (_, p0) :: _ =>
        let shape_ok p := (if list_eq_dec Nat.eq_dec (options p) (options p0) then true else false)
                          && Nat.eqb (consensus p) (K sys) && Nat.eqb (horizon p) (T sys) in
        if forallb (fun xp => shape_ok (snd xp)) plans
           && forallb (fun v => match plan_at plans v with Some p => quick_check_plan sys s v p | None => false end) (vertices l u)
        then Proved else Refused
    end.

  Theorem vertices_proved l u plans : system_accepted = true -> vertices_outcome (all_sets sys) l u plans = Proved ->
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
