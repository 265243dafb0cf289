(** That no plan exists from a state, by Farkas multipliers over all input sequences of a branch.

    Eq. (3) with the states eliminated: x_k = M_0 u_0 + .. + M_{k-1} u_{k-1} + c. A plan for (Y, K, T) holds, for each y
    in Y, a branch that keeps the tightened X and U and ends in the tightened X_R^y; when no sequence does so for any
    y, there is no plan. The rows are those of aesop_verified/evidence/plan_set.py, in its order. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Plans Machine Robust Vectors Farkas Disturbance PlanCheck Kernel SetCertificates TightenedSets SystemCertificates.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

Lemma nth_error_of_combine {A B : Type} (l : list A) (l' : list B) k a b :
  nth_error l k = Some a -> nth_error l' k = Some b -> nth_error (combine l l') k = Some (a, b).
Proof.
  revert l l'; induction k as [|k IH]; intros [|c l] [|d l'] E1 E2; try discriminate; simpl in *.
  - injection E1 as ->; injection E2 as ->; reflexivity.
  - apply IH; assumption.
Qed.

Lemma partner_in_combine {A B : Type} (l : list A) (l' : list B) a :
  length l' = length l -> In a l -> exists b, In (a, b) (combine l l').
Proof.
  revert l'; induction l as [|c l IH]; intros [|d l'] L I; try discriminate; [destruct I|].
  destruct I as [->|I]; [exists d; left; reflexivity|].
  destruct (IH l' ltac:(simpl in L; lia) I) as [b J]; exists b; right; exact J.
Qed.

(** * Inequalities over sequences of inputs *)

Section Sequences.
  Variable m : nat.
  (** One normal an input; what a shorter one leaves out is 0. *)
  Notation normals := (list (point m)).

  Fixpoint sequence_dot (c us : normals) : Qc :=
    match c, us with g :: c, u :: us => dot g u + sequence_dot c us | _, _ => 0 end.

  Fixpoint sequence_add (c d : normals) : normals :=
    match c, d with [], _ => d | _, [] => c | g :: c, k :: d => vadd g k :: sequence_add c d end.

  Definition satisfies (rows : list (normals * Qc)) (us : list (point m)) : Prop :=
    forall c h, In (c, h) rows -> sequence_dot c us <= h.

  Fixpoint combined_normals (l : list Qc) (rows : list (normals * Qc)) : normals :=
    match l, rows with
    | a :: l, (c, _) :: rows =>
        if Qc_eq_dec a 0 then combined_normals l rows else sequence_add (map (vscale a) c) (combined_normals l rows)
    | _, _ => []
    end.

  Fixpoint combined_side (l : list Qc) (rows : list (normals * Qc)) : Qc :=
    match l, rows with a :: l, (_, h) :: rows => a * h + combined_side l rows | _, _ => 0 end.

  Definition is_zero (g : point m) : bool := if vec_eq_dec g (vzero m) then true else false.

  Definition check_no_sequence (rows : list (normals * Qc)) (l : list Qc) : bool :=
    Nat.eqb (length l) (length rows) && nonnegative l && forallb is_zero (combined_normals l rows)
    && ltb (combined_side l rows) 0.

  Lemma sequence_dot_nil_right c : sequence_dot c [] = 0.
  Proof. destruct c; reflexivity. Qed.

  Lemma sequence_dot_add c d us : sequence_dot (sequence_add c d) us = sequence_dot c us + sequence_dot d us.
  Proof.
    revert d us; induction c as [|g c IH]; intros [|k d] [|u us]; simpl; rewrite ?sequence_dot_nil_right; try ring.
    rewrite IH, dot_add_left; ring.
  Qed.

  Lemma sequence_dot_scale a c us : sequence_dot (map (vscale a) c) us = a * sequence_dot c us.
  Proof. revert us; induction c as [|g c IH]; intros [|u us]; simpl; try ring; rewrite IH, dot_scale_left; ring. Qed.

  Lemma zero_normals c us : forallb is_zero c = true -> sequence_dot c us = 0.
  Proof.
    revert us; induction c as [|g c IH]; intros [|u us]; simpl; auto; rewrite andb_true_iff; intros [Z H].
    unfold is_zero in Z; destruct (vec_eq_dec g (vzero m)) as [->|]; [|discriminate].
    rewrite IH, dot_zero_left by exact H; ring.
  Qed.

  Lemma combination_of_sequences_bounds l : forall rows us, nonnegative l = true -> satisfies rows us ->
    sequence_dot (combined_normals l rows) us <= combined_side l rows.
  Proof.
    induction l as [|a l IH]; intros [|[c h] rows] us N S; simpl; try apply Qcle_refl.
    simpl in N; apply andb_true_iff in N; destruct N as [Na N]; apply leb_spec in Na.
    assert (S' : satisfies rows us) by (intros c' h' I; apply S; right; exact I).
    destruct (Qc_eq_dec a 0) as [->|_]; [rewrite Qcmult_0_l, Qcplus_0_l; apply IH; assumption|].
    rewrite sequence_dot_add, sequence_dot_scale; apply Qcplus_le_compat; [|apply IH; assumption].
    apply mult_le_nonneg; [exact Na | apply S; left; reflexivity].
  Qed.

  Theorem check_no_sequence_sound rows l : check_no_sequence rows l = true -> forall us, ~ satisfies rows us.
  Proof.
    unfold check_no_sequence; rewrite !andb_true_iff; intros [[[_ N] Z] B] us S; apply ltb_spec in B.
    pose proof (combination_of_sequences_bounds N S) as H; rewrite (zero_normals us Z) in H; exact (Qclt_not_le _ _ B H).
  Qed.
End Sequences.

(** * The rows of a branch *)

Section Rows.
  Variables n m : nat.
  Variable A : matrix n n.
  Variable B : matrix n m.
  Variable b : point n.
  Notation model := (Robust.model (vectors n) (mat_vec A) (mat_vec B) b).

  (** M_0 u_0 + M_1 u_1 + ... *)
  Fixpoint moved (Ms : list (matrix n m)) (us : list (point m)) : point n :=
    match Ms, us with M :: Ms, u :: us => vadd (mat_vec M u) (moved Ms us) | _, _ => vzero n end.

  Definition state_rows (P : polytope n) (Ms : list (matrix n m)) (c : point n) : list (list (point m) * Qc) :=
    map (fun row => (map (fun M => vec_mat (fst row) M) Ms, snd row - dot (fst row) c)) P.

  Definition input_rows (P : polytope m) (k : nat) : list (list (point m) * Qc) :=
    map (fun row => (repeat (vzero m) k ++ [fst row], snd row)) P.

  (** [XU]: the sets for x_k and u_k, step by step; [last]: the one for the final state. *)
  Fixpoint branch_rows (XU : list (polytope n * polytope m)) (last : polytope n) (Ms : list (matrix n m)) (c : point n)
      : list (list (point m) * Qc) :=
    match XU with
    | [] => state_rows last Ms c
    | (PX, PU) :: XU => state_rows PX Ms c ++ input_rows PU (length Ms)
                        ++ branch_rows XU last (map (mat_mul A) Ms ++ [B]) (vadd (mat_vec A c) b)
    end.

  (** Rows 0 u <= h with h >= 0 say nothing. evidence/plan_set.without_zero_rows. *)
  Definition says_something (row : list (point m) * Qc) : bool := negb (forallb (@is_zero m) (fst row) && leb 0 (snd row)).

  Lemma dot_moved g Ms us : dot g (moved Ms us) = sequence_dot (map (fun M => vec_mat g M) Ms) us.
  Proof.
    revert us; induction Ms as [|M Ms IH]; intros [|u us]; simpl; try apply dot_zero.
    rewrite dot_add, dot_mat_vec, IH; reflexivity.
  Qed.

  Lemma moved_by_A Ms us : moved (map (mat_mul A) Ms) us = mat_vec A (moved Ms us).
  Proof.
    revert us; induction Ms as [|M Ms IH]; intros [|u us]; simpl; try (symmetry; apply mat_vec_zero).
    rewrite IH, mat_vec_mul; symmetry; apply (mat_vec_additive A).
  Qed.

  Lemma moved_snoc Ms us M u vs : length Ms = length us ->
    moved (Ms ++ [M]) (us ++ u :: vs) = vadd (moved Ms us) (mat_vec M u).
  Proof.
    revert us; induction Ms as [|N Ms IH]; intros [|v us] L; try discriminate; simpl.
    - rewrite vadd_zero; symmetry; rewrite vadd_comm; apply vadd_zero.
    - rewrite IH by (simpl in L; lia); apply vadd_assoc.
  Qed.

  Lemma moved_of_prefix Ms us vs : length Ms = length us -> moved Ms (us ++ vs) = moved Ms us.
  Proof.
    revert us; induction Ms as [|M Ms IH]; intros [|u us] L; try discriminate; simpl; [destruct vs; reflexivity|].
    rewrite IH by (simpl in L; lia); reflexivity.
  Qed.

  Lemma sequence_dot_of_one us g u vs : sequence_dot (repeat (vzero m) (length us) ++ [g]) (us ++ u :: vs) = dot g u.
  Proof. induction us as [|v us IH]; simpl; [ring|]; rewrite IH, dot_zero_left; ring. Qed.

  (** A branch that keeps its sets satisfies the rows. *)
  Lemma branch_satisfies_rows XU last : forall Ms c before after x,
    length Ms = length before -> roll model x before = vadd (moved Ms before) c -> length after = length XU ->
    (forall j PX PU u, nth_error XU j = Some (PX, PU) -> nth_error after j = Some u ->
       contains PX (roll model x (before ++ firstn j after)) /\ contains PU u) ->
    contains last (roll model x (before ++ after)) ->
    satisfies (branch_rows XU last Ms c) (before ++ after).
  Proof.
    assert (Keeps : forall P Ms c us vs y, length Ms = length us -> y = vadd (moved Ms us) c -> contains P y ->
              satisfies (state_rows P Ms c) (us ++ vs)).
    { intros P Ms c us vs y L -> C d h I; apply in_map_iff in I; destruct I as ([g k] & E & I); injection E as <- <-; simpl.
      rewrite <- dot_moved, moved_of_prefix by exact L; pose proof (C g k I) as Le; rewrite dot_add in Le.
      set (a := dot g (moved Ms us)) in *; set (e := dot g c) in *; qc_order. }
    induction XU as [|[PX PU] XU IH]; intros Ms c before after x L R La H Last; simpl in *.
    - destruct after; [|discriminate]; apply (Keeps last Ms c before [] _ L R); rewrite app_nil_r in Last; exact Last.
    - destruct after as [|u after]; [discriminate|].
      destruct (H O PX PU u eq_refl eq_refl) as [HX HU]; simpl in HX; rewrite app_nil_r in HX.
      intros d h I; apply in_app_iff in I; destruct I as [I|I]; [exact (Keeps PX Ms c before (u :: after) _ L R HX d h I)|].
      apply in_app_iff in I; destruct I as [I|I].
      + apply in_map_iff in I; destruct I as ([g k] & E & I); injection E as <- <-; simpl.
        rewrite L, sequence_dot_of_one; exact (HU g k I).
      + assert (Split : before ++ u :: after = (before ++ [u]) ++ after) by (rewrite <- app_assoc; reflexivity).
        rewrite Split in *; refine (IH _ _ (before ++ [u]) after x _ _ _ _ Last d h I).
        * rewrite !app_length, map_length; simpl; lia.
        * rewrite roll_app, R; simpl.
          rewrite (moved_snoc (Ms := map (mat_mul A) Ms) (us := before) B u []) by (rewrite map_length; exact L).
          rewrite moved_by_A; unfold Robust.model; simpl.
          pose proof (mat_vec_additive A (moved Ms before) c) as Ad; simpl in Ad; rewrite Ad.
          pose proof (@add_swap_right _ (vectors n)) as Sw; simpl in Sw.
          rewrite (Sw (mat_vec A (moved Ms before)) (mat_vec A c) (mat_vec B u)), !vadd_assoc; reflexivity.
        * simpl in La; lia.
        * intros j PX' PU' v EX EU; specialize (H (S j) PX' PU' v EX EU); simpl in H.
          rewrite <- app_assoc; exact H.
  Qed.
End Rows.

Section NoPlan.
  Variables n m : nat.
  Notation Name := nat.
  Variable sys : ExactSystem n m Name.
  Notation W := (total_disturbance sys).

  Definition plan_rows (s : Sets n m) (x : point n) (tube : list (polytope n)) : list (list (point m) * Qc) :=
    filter (@says_something m)
      (branch_rows (A sys) (B sys) (b sys) (firstn (S (T sys)) (combine (state_sets s) (input_sets s)))
         (nth (S (T sys)) tube []) [] x).

  (** One row of multipliers a recovery set, in the order of the system. evidence/recheck: no_plan. *)
  Definition no_plan_outcome (s : Sets n m) (x : point n) (multipliers : list (list (list Qc))) : Outcome :=
    if Nat.eqb (length multipliers) (length (recovery_tubes s))
       && forallb (fun tl => match snd tl with [l] => check_no_sequence (plan_rows s x (snd (fst tl))) l | _ => false end)
            (combine (recovery_tubes s) multipliers)
    then Proved else Refused.

  Notation feasible := (Robust.robustly_feasible (vectors n) (vectors m) (mat_vec (A sys)) (mat_vec (B sys)) (b sys)
    (mat_vec (F sys)) (in_sum W) (contains (X sys)) (contains (input_set sys)) (X_R Nat.eq_dec sys)).
  Notation tight := (tightened (A sys) (B sys) (F sys) W).
  Notation tight_inputs := (tightened_inputs (A sys) (B sys) (F sys) W).

  Lemma sets_of_step k : (k < T sys + 2)%nat ->
    nth_error (combine (state_sets (all_sets sys)) (input_sets (all_sets sys))) k
    = Some (tight (X sys) k, tight_inputs (input_set sys) k).
  Proof.
    intros L; pose proof (state_side_list_nth sys (X sys) L) as E1; pose proof (input_side_list_nth sys L) as E2.
    unfold all_sets; cbn [state_sets input_sets]; apply nth_error_of_combine; assumption.
  Qed.

  (** When the command says proved, no plan for the full horizon exists, whatever its options and its consensus. *)
  Theorem no_plan_proved x multipliers : system_accepted sys = true -> no_plan_outcome (all_sets sys) x multipliers = Proved ->
    forall p, horizon p = T sys -> ~ feasible x p.
  Proof.
    intros Ok H p Hp Fe; apply accepted_is_ordered in Ok; unfold no_plan_outcome in H.
    destruct (_ && _) eqn:E; [|discriminate]; clear H; apply andb_true_iff in E; destruct E as [L E]; apply Nat.eqb_eq in L.
    destruct (branches p) as [|[y us] rest] eqn:Br; [exact (some_option Fe Br)|].
    assert (I : In (y, us) (branches p)) by (rewrite Br; left; reflexivity).
    pose proof (recovery_length Fe I) as Lu; pose proof (recovery_admissible Fe I) as Ad; pose proof (recovery_terminal Fe I) as Te.
    rewrite Hp in *; unfold Robust.XR, X_R in Te.
    destruct (recovery Nat.eq_dec sys y) as [r|] eqn:Er.
    2: { destruct (tube_support_attained (A sys) (B sys) (F sys) Ok (S (T sys)) (vzero n)) as (v & Hv & _); destruct (Te v Hv). }
    assert (J : exists l, In ((y, state_side_list sys (region r) (T sys + 2)), l) (combine (recovery_tubes (all_sets sys)) multipliers)).
    { assert (I' : In (y, state_side_list sys (region r) (T sys + 2)) (recovery_tubes (all_sets sys))).
      { apply (in_map (fun yr => (fst yr, state_side_list sys (region (snd yr)) (T sys + 2))) _ (y, r)), recovery_is_listed with Nat.eq_dec.
        exact Er. }
      exact (partner_in_combine L I'). }
    destruct J as [l J]; rewrite forallb_forall in E; specialize (E _ J); simpl in E.
    destruct l as [|l [|]]; try discriminate; apply (check_no_sequence_sound E (us := us)).
    assert (Last : nth (S (T sys)) (state_side_list sys (region r) (T sys + 2)) [] = tight (region r) (S (T sys))).
    { apply nth_error_nth, state_side_list_nth; lia. }
    intros c h In_c; apply filter_In in In_c; destruct In_c as [In_c _]; revert c h In_c; rewrite Last.
    apply (branch_satisfies_rows (before := []) (after := us) (x := x)).
    - reflexivity.
    - symmetry; cbn [moved roll]; rewrite vadd_comm; apply vadd_zero.
    - rewrite firstn_length, Lu; symmetry; apply Nat.min_l.
      assert (Len : nth_error (combine (state_sets (all_sets sys)) (input_sets (all_sets sys))) (S (T sys)) <> None)
        by (rewrite sets_of_step by lia; discriminate).
      apply nth_error_Some in Len; lia.
    - intros j PX PU u EX EU; assert (Lj : (j < S (T sys))%nat).
      { rewrite <- Lu; apply nth_error_Some; rewrite EU; discriminate. }
      rewrite nth_error_of_prefix, sets_of_step in EX by lia; injection EX as <- <-.
      destruct (Ad j u EU) as [AX AU]; simpl in AX, AU; split.
      + apply (tightened_is_pontryagin_difference (A sys) (B sys) (F sys) Ok); exact AX.
      + apply (tightened_inputs_is_pontryagin_difference (A sys) (B sys) (F sys) Ok); exact AU.
    - apply (tightened_is_pontryagin_difference (A sys) (B sys) (F sys) Ok); exact Te.
  Qed.
End NoPlan.
