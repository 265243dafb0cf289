(** The theorem about the numbers that the kernel really computes with.

    A system of exact rationals as in kernel/model.py; every recovery set proved invariant by Farkas rows
    (kernel/invariance.py); plans checked against tightened right-hand sides (kernel/plan.py). Then the claims of
    Theorem 1 hold for the true state, with rounding of inputs and an estimate error, for every plant inside W. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Plans Machine MachineProperties Robust Vectors Farkas Disturbance PlanCheck Rounding.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

(** * Products and sums of matrices *)

Fixpoint map_rows {A A' : Type} (f : A -> A') {p} : vec A p -> vec A' p :=
  match p with O => fun _ => tt | S p => fun M => (f (fst M), map_rows f (snd M)) end.

Definition mat_mul {p r n} (M : matrix p r) (N : matrix r n) : matrix p n := map_rows (fun row => vec_mat row N) M.
Definition mat_opp {p n} (M : matrix p n) : matrix p n := map_rows (fun row => vopp row) M.

Fixpoint mat_add {p n} : matrix p n -> matrix p n -> matrix p n :=
  match p with O => fun _ _ => tt | S p => fun M N => (vadd (fst M) (fst N), mat_add (snd M) (snd N)) end.

Fixpoint identity (n : nat) : matrix n n :=
  match n with O => tt | S n => (unit_vector (S n) 0, map_rows (fun row : point n => (0, row) : point (S n)) (identity n)) end.

Fixpoint matrix_eq_dec {p n} : forall M N : matrix p n, {M = N} + {M <> N}.
Proof.
  destruct p as [|p]; intros M N.
  - destruct M, N; left; reflexivity.
  - destruct M as [r M], N as [s N].
    destruct (vec_eq_dec r s) as [->|D]; [|right; congruence].
    destruct (matrix_eq_dec p n M N) as [->|D]; [left; reflexivity | right; congruence].
Defined.

Lemma mat_vec_mul p r n (M : matrix p r) (N : matrix r n) v : mat_vec (mat_mul M N) v = mat_vec M (mat_vec N v).
Proof.
  unfold mat_mul; induction p as [|p IH]; simpl; [reflexivity|]; rewrite IH, dot_mat_vec; reflexivity.
Qed.

Lemma mat_vec_opp p n (M : matrix p n) v : mat_vec (mat_opp M) v = vopp (mat_vec M v).
Proof.
  unfold mat_opp, vopp; induction p as [|p IH]; simpl; [reflexivity|]; rewrite IH, dot_scale_left; reflexivity.
Qed.

Lemma mat_vec_add p n (M N : matrix p n) v : mat_vec (mat_add M N) v = vadd (mat_vec M v) (mat_vec N v).
Proof.
  induction p as [|p IH]; simpl; [reflexivity|]; rewrite IH, dot_add_left; reflexivity.
Qed.

Lemma mat_vec_identity n (x : point n) : mat_vec (identity n) x = x.
Proof.
  induction n as [|n IH]; [destruct x; reflexivity|]; destruct x as [a x]; simpl.
  assert (E : forall p (M : matrix p n), mat_vec (map_rows (fun row : point n => (0, row) : point (S n)) M) ((a, x) : point (S n))
                = mat_vec M x).
  { induction p as [|p IHp]; intros M; simpl; [reflexivity|]; rewrite Qcmult_0_l, Qcplus_0_l, IHp; reflexivity. }
  rewrite E, IH, dot_zero_left; f_equal; ring.
Qed.

Lemma vopp_add n (x y : point n) : vopp (vadd x y) = vadd (vopp x) (vopp y).
Proof. unfold vopp; revert x y; induction n as [|n IH]; intros x y; simpl; [reflexivity|]; rewrite IH; f_equal; ring. Qed.

Lemma vopp_zero n : vopp (vzero n) = vzero n.
Proof. unfold vopp; induction n as [|n IH]; simpl; [reflexivity|]; rewrite IH; f_equal. Qed.

(** * Summands *)

Fixpoint box_allows_zero {p} : point p -> point p -> bool :=
  match p with O => fun _ _ => true | S p => fun l u => leb (fst l) 0 && leb 0 (fst u) && box_allows_zero (snd l) (snd u) end.

Lemma mat_vec_zero p n (M : matrix p n) : mat_vec M (vzero n) = vzero p.
Proof. exact (additive_zero (mat_vec_additive M)). Qed.

Lemma zero_in_sum n (E : list (Summand n)) :
  forallb (fun s => box_allows_zero (lower s) (upper s)) E = true -> in_sum E (vzero n).
Proof.
  induction E as [|s E IH]; simpl; [reflexivity|]; rewrite andb_true_iff; intros [H0 H].
  exists (vzero n), (vzero n); split; [|split; [apply IH; exact H | symmetry; apply vadd_zero]].
  exists (vzero (parameters s)); split; [|symmetry; apply mat_vec_zero].
  revert H0; generalize (lower s), (upper s); induction (parameters s) as [|p IHp]; simpl; [auto|].
  intros l u B; rewrite !andb_true_iff, !leb_spec in B; destruct B as [[L U] B]; split; [split; assumption | apply IHp; exact B].
Qed.

(** The support in every direction +-e_i is 0. kernel: Summand.is_zero. *)
Definition summand_is_zero {n} (s : Summand n) : bool :=
  forallb (fun i => (if Qc_eq_dec (summand_support s (unit_vector n i)) 0 then true else false)
                    && (if Qc_eq_dec (summand_support s (vopp (unit_vector n i))) 0 then true else false)) (seq 0 n).

Lemma zero_of_coordinates n (x : point n) : (forall i, (i < n)%nat -> coordinate i x = 0) -> x = vzero n.
Proof.
  induction n as [|n IH]; intros H; simpl in *; [destruct x; reflexivity|]; destruct x as [a x].
  rewrite (H O ltac:(lia) : a = 0); f_equal; apply IH; intros i L; apply (H (S i)); lia.
Qed.

Theorem summand_is_zero_sound n (s : Summand n) w :
  summand_is_zero s = true -> in_summand s w -> w = vzero n.
Proof.
  unfold summand_is_zero; rewrite forallb_forall; intros H (v & Hv & ->); apply zero_of_coordinates; intros i L.
  specialize (H i ltac:(apply in_seq; lia)); apply andb_true_iff in H; destruct H as [Hp Hn].
  destruct (Qc_eq_dec _ 0) as [Ep|] in Hp; [|discriminate]; destruct (Qc_eq_dec _ 0) as [En|] in Hn; [|discriminate].
  pose proof (box_support_bounds (w := vec_mat (unit_vector n i) (image s)) Hv) as Bp.
  pose proof (box_support_bounds (w := vec_mat (vopp (unit_vector n i)) (image s)) Hv) as Bn.
  fold (summand_support s (unit_vector n i)) in Bp; fold (summand_support s (vopp (unit_vector n i))) in Bn.
  rewrite Ep in Bp; rewrite En in Bn; rewrite <- dot_mat_vec in Bp, Bn.
  unfold vopp in Bn; rewrite dot_scale_left in Bn; rewrite dot_unit_vector in Bp, Bn.
  set (c := coordinate i _) in *; assert (E : - (1) * c = - c) by ring; rewrite E in Bn.
  apply Qcle_antisym; [exact Bp | qc_order].
Qed.

Lemma sum_is_zero_sound n (W : list (Summand n)) w : forallb summand_is_zero W = true -> in_sum W w -> w = vzero n.
Proof.
  revert w; induction W as [|s W IH]; intros w H I; simpl in *; [exact I|].
  apply andb_true_iff in H; destruct H as [H0 H]; destruct I as (a & b & Ha & Hb & ->).
  rewrite (summand_is_zero_sound H0 Ha), (IH b H Hb); apply vadd_zero.
Qed.

(** E + (-A E), two summands for each of E. kernel: System._estimate_summands. *)
Definition estimate_summands {n} (A : matrix n n) (E : list (Summand n)) : list (Summand n) :=
  flat_map (fun s => [s; {| image := mat_opp (mat_mul A (image s)); lower := lower s; upper := upper s |}]) E.

Lemma estimate_moves_in n (A : matrix n n) (E : list (Summand n)) e0 e1 :
  in_sum E e0 -> in_sum E e1 -> in_sum (estimate_summands A E) (vadd e1 (vopp (mat_vec A e0))).
Proof.
  revert e0 e1; induction E as [|s E IH]; intros e0 e1 H0 H1; simpl in *.
  - subst; rewrite mat_vec_zero, vopp_zero; apply vadd_zero.
  - destruct H0 as (a0 & b0 & (v & Hv & ->) & Hb0 & ->); destruct H1 as (a1 & b1 & Ha1 & Hb1 & ->).
    exists a1, (vadd (vopp (mat_vec A (mat_vec (image s) v))) (vadd b1 (vopp (mat_vec A b0)))).
    split; [exact Ha1|]; split.
    + do 2 eexists; split; [|split; [apply (IH b0 b1 Hb0 Hb1) | reflexivity]].
      exists v; simpl; split; [exact Hv|]; rewrite mat_vec_opp, mat_vec_mul; reflexivity.
    + pose proof (mat_vec_additive A (mat_vec (image s) v) b0) as Ad; simpl in Ad; rewrite Ad, vopp_add.
      pose proof (@add_swap _ (vectors n) a1 b1) as Sw; simpl in Sw; rewrite Sw, !vadd_assoc; reflexivity.
Qed.

(** * Projection of a best-effort input onto U, along the segment from a point of U. kernel: machine.projected *)

Definition share {m} (U : polytope m) (anchor direction : point m) : Qc :=
  fold_right (fun row s =>
    let slope := dot (fst row) direction in
    let slack := snd row - dot (fst row) anchor in
    if leb slope slack then s else if leb s (slack / slope) then s else slack / slope) 1 U.

Definition projected {m} (U : polytope m) (anchor u : point m) : point m :=
  vadd anchor (vscale (share U anchor (vadd u (vopp anchor))) (vadd u (vopp anchor))).

Theorem projection_is_inside m (U : polytope m) anchor u : contains U anchor -> contains U (projected U anchor u).
Proof.
  intros C; unfold projected; set (d := vadd u (vopp anchor)).
  assert (G : forall V : polytope m, (forall g h, In (g, h) V -> dot g anchor <= h) ->
    0 <= share V anchor d /\ share V anchor d <= 1 /\
    forall g h s, In (g, h) V -> 0 <= s -> s <= share V anchor d -> s * dot g d <= h - dot g anchor).
  { induction V as [|[g0 h0] V IH]; intros CV; [repeat split; try discriminate; intros g h s []|].
    destruct IH as (I0 & I1 & IH); [intros g h J; apply CV; right; exact J|].
    pose proof (CV g0 h0 (or_introl eq_refl)) as C0.
    assert (Slack : 0 <= h0 - dot g0 anchor) by (set (a := dot g0 anchor) in *; qc_order).
    cbn [share fold_right fst snd]; fold (share V anchor d).
    set (slope := dot g0 d); set (slack := h0 - dot g0 anchor) in *; set (s0 := share V anchor d) in *.
    destruct (leb slope slack) eqn:E1.
    - apply leb_spec in E1; repeat split; auto; intros g h s [J|J] Hs Ls; [|eauto].
      injection J as <- <-; fold slope slack.
      destruct (Qclt_le_dec slope 0) as [Neg|Pos].
      + apply Qcle_trans with 0; [|exact Slack].
        rewrite Qcmult_comm; pose proof (mult_le_nonpos (Qclt_le_weak _ _ Neg) Hs) as M.
        rewrite Qcmult_0_r in M; exact M.
      + apply Qcle_trans with slope; [|exact E1].
        rewrite Qcmult_comm; pose proof (mult_le_nonneg Pos (Qcle_trans _ _ _ Ls I1)) as M.
        rewrite Qcmult_1_r in M; exact M.
    - assert (L : slack < slope) by (apply ltb_spec; unfold ltb; rewrite E1; reflexivity).
      assert (Ps : 0 < slope) by (apply Qcle_lt_trans with slack; assumption).
      assert (Ns : slope <> 0) by (intros Z; rewrite Z in Ps; exact (Qclt_not_le _ _ Ps (Qcle_refl 0))).
      assert (Row : forall s, s <= slack / slope -> s * slope <= slack).
      { intros s Ls; pose proof (mult_le_nonneg (Qclt_le_weak _ _ Ps) Ls) as M.
        assert (Q : slope * (slack / slope) = slack) by (field; exact Ns); rewrite Q in M.
        rewrite Qcmult_comm; exact M. }
      assert (Pq : 0 <= slack / slope).
      { apply Qcnot_lt_le; intros Neg.
        pose proof (Qcmult_lt_compat_r _ _ slope Ps Neg) as M.
        assert (Q : slack / slope * slope = slack) by (field; exact Ns); rewrite Q, Qcmult_0_l in M.
        exact (Qclt_not_le _ _ M Slack). }
      destruct (leb s0 (slack / slope)) eqn:E2.
      + apply leb_spec in E2; repeat split; auto; intros g h s [J|J] Hs Ls; [|eauto].
        injection J as <- <-; apply Row; apply Qcle_trans with s0; assumption.
      + assert (L2 : slack / slope < s0) by (apply ltb_spec; unfold ltb; rewrite E2; reflexivity).
        split; [exact Pq|]; split; [apply Qcle_trans with s0; [apply Qclt_le_weak; exact L2 | exact I1]|].
        intros g h s [J|J] Hs Ls; [injection J as <- <-; apply Row; exact Ls|].
        apply IH; auto; apply Qcle_trans with (slack / slope); [exact Ls | apply Qclt_le_weak; exact L2]. }
  destruct (G U C) as (I0 & _ & H); intros g h J; rewrite dot_add, dot_scale.
  pose proof (H g h _ J I0 (Qcle_refl _)) as B; set (a := dot g anchor) in *; set (b := _ * dot g d) in *; qc_order.
Qed.

(** * The system *)

Section Kernel.
  Variables n m : nat.
  Variable Name : Type.
  Variable name_eq_dec : forall a b : Name, {a = b} + {a <> b}.

  (** kernel: model.RecoverySet. *)
  Record RecoverySet : Type := { region : polytope n; law_gain : matrix m n; law_offset : point m }.

  (** kernel: RecoverySet.law. *)
  Definition law_of (r : RecoverySet) (z : point n) : point m := vadd (mat_vec (law_gain r) z) (law_offset r).

  (** kernel: model.System. *)
  Record ExactSystem : Type := {
    A : matrix n n;
    B : matrix n m;
    b : point n;
    X : polytope n;
    U : polytope m;
    F : matrix m n;
    declared : list (Summand n);
    estimate_error : list (Summand n);
    recovery_sets : list (Name * RecoverySet);
    T : nat;
    K : nat;
    quantum : Qc;
    order : list Name
  }.

  Variable sys : ExactSystem.

  Definition rounds : bool := ltb 0 (quantum sys).
  (** kernel: System.input_set. *)
  Definition input_set : polytope m := if rounds then grid_shrunk (quantum sys) (U sys) else U sys.
  Definition send (u : point m) : point m := if rounds then rounded_vector (quantum sys) u else u.

  (** kernel: System.measured_disturbance, System.total_disturbance. *)
  Definition measured_disturbance : list (Summand n) := declared sys ++ estimate_summands (A sys) (estimate_error sys).
  Definition rounding_summands : list (Summand n) :=
    if rounds then [{| image := B sys; lower := constant m (- (quantum sys * half)); upper := constant m (quantum sys * half) |}]
    else [].
  Definition total_disturbance : list (Summand n) := measured_disturbance ++ rounding_summands.

  Fixpoint recovery_in (sets : list (Name * RecoverySet)) (y : Name) : option RecoverySet :=
    match sets with [] => None | (z, r) :: sets => if name_eq_dec z y then Some r else recovery_in sets y end.
  (** kernel: System.recovery. *)
  Definition recovery (y : Name) : option RecoverySet := recovery_in (recovery_sets sys) y.
  Definition system_names : list Name := map fst (recovery_sets sys).

  Definition offset_of (y : Name) : point m := match recovery y with Some r => law_offset r | None => vzero m end.
  Definition X_R (y : Name) (x : point n) : Prop := match recovery y with Some r => contains (region r) x | None => False end.

  (** ** Invariance, from Farkas rows *)

  Record RecoveryEvidence : Type := {
    member : point n;
    invariance_rows : list (list Qc);
    inside_rows : list (list Qc);
    law_rows : list (list Qc)
  }.

  (** kernel: invariance.check_recovery_set with FarkasRows. *)
  Definition check_recovery_set (r : RecoverySet) (e : RecoveryEvidence) : bool :=
    check_contains (region r) (member e)
    && check_inclusion (region r) (region r) (invariance_rows e) (mat_add (A sys) (mat_mul (B sys) (law_gain r)))
         (vadd (mat_vec (B sys) (law_offset r)) (b sys)) (map (fun row => support total_disturbance (fst row)) (region r))
    && check_inclusion (region r) (X sys) (inside_rows e) (identity n) (vzero n) (map (fun _ => 0) (X sys))
    && check_inclusion (region r) input_set (law_rows e) (law_gain r) (law_offset r) (map (fun _ => 0) input_set).

  (** kernel: invariance.assure. *)
  Definition assured (evidence : list RecoveryEvidence) : bool :=
    Nat.eqb (length evidence) (length (recovery_sets sys))
    && forallb (fun re => check_recovery_set (snd (fst re)) (snd re)) (combine (recovery_sets sys) evidence).

  Notation gS := (vectors n).
  Notation gI := (vectors m).
  Notation model := (Robust.model gS (mat_vec (A sys)) (mat_vec (B sys)) (b sys)).
  Notation kappa := (Robust.kappa gI (mat_vec (F sys)) offset_of).
  Notation W := (in_sum total_disturbance).

  Lemma law_moves_the_model z r :
    model z (law_of r z) = vadd (mat_vec (mat_add (A sys) (mat_mul (B sys) (law_gain r))) z)
                                (vadd (mat_vec (B sys) (law_offset r)) (b sys)).
  Proof.
    unfold Robust.model, law_of; simpl; rewrite mat_vec_add, mat_vec_mul.
    pose proof (mat_vec_additive (B sys) (mat_vec (law_gain r) z) (law_offset r)) as Ad; simpl in Ad; rewrite Ad.
    rewrite !vadd_assoc; reflexivity.
  Qed.

  (** A recovery set that the check accepts is robustly invariant under its law, inside X, with its law in U. *)
  Theorem check_recovery_set_sound r e :
    check_recovery_set r e = true ->
    forall z, contains (region r) z -> contains (X sys) z /\ contains input_set (law_of r z)
      /\ forall w, W w -> contains (region r) (vadd (model z (law_of r z)) w).
  Proof.
    intros H z Z; unfold check_recovery_set in H; rewrite !andb_true_iff in H.
    destruct H as [[[_ Inv] Ins] Law]; split; [|split].
    - pose proof (check_inclusion_sound_plain Ins Z) as I; rewrite mat_vec_identity, vadd_zero in I; exact I.
    - exact (check_inclusion_sound_plain Law Z).
    - intros w Hw g h I; rewrite law_moves_the_model, dot_add.
      apply check_inclusion_sound in Inv; destruct Inv as [_ Inv].
      apply In_nth_error in I; destruct I as [i I].
      pose proof (Inv z Z i g h (support total_disturbance g) I
        (map_nth_error (fun row => support total_disturbance (fst row)) i _ I)) as Bd.
      pose proof (support_bounds (g := g) Hw) as Bw.
      set (a := dot g (vadd _ _)) in *; set (c := dot g w) in *; set (s := support _ g) in *; qc_order.
  Qed.

  Lemma recovery_is_listed sets y r : recovery_in sets y = Some r -> In (y, r) sets.
  Proof.
    induction sets as [|[z r0] sets IH]; simpl; [discriminate|].
    destruct (name_eq_dec z y) as [->|N]; [intros [= ->]; left; reflexivity | intros E; right; apply IH, E].
  Qed.

  Lemma recovery_is_assured evidence y r :
    assured evidence = true -> recovery y = Some r -> exists e, check_recovery_set r e = true.
  Proof.
    unfold assured; rewrite andb_true_iff, Nat.eqb_eq, forallb_forall; intros [L H] E.
    pose proof (recovery_is_listed E) as I.
    assert (C : forall (l : list (Name * RecoverySet)) (es : list RecoveryEvidence) a, length es = length l -> In a l ->
              exists e, In (a, e) (combine l es)).
    { induction l as [|a0 l IH]; intros [|e es] a Le Ia; simpl in *; try discriminate; [destruct Ia|].
      destruct Ia as [->|Ia]; [exists e; auto|]; destruct (IH es a ltac:(lia) Ia) as [e' Ie]; exists e'; auto. }
    destruct (C _ _ _ L I) as [e Ie]; exists e; exact (H _ Ie).
  Qed.

  Lemma total_disturbance_is_ordered :
    well_formed (declared sys) = true -> well_formed (estimate_error sys) = true -> 0 <= quantum sys ->
    well_formed total_disturbance = true.
  Proof.
    intros H1 H2 Hq.
    unfold total_disturbance, measured_disturbance, well_formed in *; rewrite !forallb_app, H1; simpl.
    apply andb_true_iff; split.
    - clear -H2; induction (estimate_error sys) as [|s E IH]; simpl in *; [reflexivity|].
      apply andb_true_iff in H2; destruct H2 as [H0 H]; rewrite H0; simpl; auto.
    - unfold rounding_summands; destruct rounds; [|reflexivity]; simpl; rewrite andb_true_r.
      assert (Hh : 0 <= half) by discriminate.
      pose proof (mult_le_nonneg Hq Hh) as M; rewrite Qcmult_0_r in M; set (qh := quantum sys * half) in *.
      assert (L : leb (- qh) qh = true) by (apply leb_spec; qc_order).
      clear -L; induction m as [|k IH]; simpl; [reflexivity|]; rewrite L; exact IH.
  Qed.

  (** ** The plan check on the tightened right-hand sides *)

  Section PlanCheck.
  Notation tight P k := (tightened (A sys) (B sys) (F sys) total_disturbance P k).

  Definition in_XS (k : nat) (x : point n) : bool := check_contains (tight (X sys) k) x.
  Definition in_US (k : nat) (u : point m) : bool :=
    check_contains (tightened_inputs (A sys) (B sys) (F sys) total_disturbance input_set k) u.
  Definition in_XR (y : Name) (k : nat) (x : point n) : bool :=
    match recovery y with Some r => check_contains (tight (region r) k) x | None => false end.

  (** kernel: plan.check_plan. *)
  Definition kernel_check_plan : point n -> Plan (point m) Name -> bool :=
    check_plan model in_XS in_US in_XR (fun u v : point m => vec_eq_dec u v) name_eq_dec.

  Notation feasible := (Robust.robustly_feasible gS gI (mat_vec (A sys)) (mat_vec (B sys)) (b sys) (mat_vec (F sys)) W
    (contains (X sys)) (contains input_set) X_R).

  Hypothesis ordered : well_formed total_disturbance = true.

  (** The kernel's plan check decides Eq. (3) on the Pontryagin differences X - R_k, U - F R_k and X_R - R_k. *)
  Theorem kernel_check_plan_decides x p : kernel_check_plan x p = true <-> feasible x p.
  Proof.
    apply check_plan_decides.
    - intros k z; unfold in_XS; rewrite check_contains_decides; apply tightened_is_pontryagin_difference, ordered.
    - intros k u; unfold in_US; rewrite check_contains_decides; apply tightened_inputs_is_pontryagin_difference, ordered.
    - intros y k z; unfold in_XR, Robust.XR, X_R; destruct (recovery y) as [r|].
      + rewrite check_contains_decides; apply tightened_is_pontryagin_difference, ordered.
      + split; [discriminate|]; intros H.
        destruct (tube_support_attained (A sys) (B sys) (F sys) ordered k (vzero n)) as (r & Hr & _).
        destruct (H r Hr).
  Qed.
  End PlanCheck.

  (** ** Assumptions that the kernel checks when a system is made. kernel: System.__post_init__ *)

  Definition well_formed_system : bool :=
    well_formed (declared sys) && well_formed (estimate_error sys)
    && forallb (fun s => box_allows_zero (lower s) (upper s)) (estimate_error sys)
    && leb 0 (quantum sys) && (K sys <? T sys)%nat
    && forallb (fun y => if in_dec name_eq_dec y (order sys) then true else false) system_names
    && forallb (fun yr => if matrix_eq_dec (law_gain (snd yr)) (F sys) then true else false) (recovery_sets sys).

  Hypothesis ok : well_formed_system = true.
  Variable evidence : list RecoveryEvidence.
  Hypothesis proved : assured evidence = true.

  Lemma ok_parts :
    well_formed (declared sys) = true /\ well_formed (estimate_error sys) = true
    /\ forallb (fun s => box_allows_zero (lower s) (upper s)) (estimate_error sys) = true
    /\ 0 <= quantum sys /\ (K sys < T sys)%nat /\ incl system_names (order sys)
    /\ forall y r, In (y, r) (recovery_sets sys) -> law_gain r = F sys.
  Proof.
    pose proof ok as H; unfold well_formed_system in H; rewrite !andb_true_iff, leb_spec, Nat.ltb_lt in H.
    destruct H as [[[[[[H1 H2] H3] H4] H5] H6] H7]; rewrite forallb_forall in H6, H7; do 5 (split; [assumption|]); split.
    - intros y I; specialize (H6 y I); destruct (in_dec _ y (order sys)); [assumption | discriminate].
    - intros y r I; specialize (H7 _ I); simpl in H7; destruct (matrix_eq_dec _ _); [assumption | discriminate].
  Qed.

  Lemma total_is_ordered : well_formed total_disturbance = true.
  Proof. destruct ok_parts as (H1 & H2 & _ & Hq & _); exact (total_disturbance_is_ordered H1 H2 Hq). Qed.

  Lemma sets_are_robustly_invariant :
    Robust.robustly_invariant gS gI (mat_vec (A sys)) (mat_vec (B sys)) (b sys) (mat_vec (F sys)) W
      (contains (X sys)) (contains input_set) X_R offset_of.
  Proof.
    intros y z Z; destruct ok_parts as (_ & _ & _ & _ & _ & _ & G).
    unfold X_R in *; destruct (recovery y) as [r|] eqn:E; [|destruct Z].
    destruct (recovery_is_assured proved E) as [e C].
    assert (L : kappa y z = law_of r z).
    { unfold Robust.kappa, law_of, offset_of; rewrite E, (G y r (recovery_is_listed E)); reflexivity. }
    rewrite L; exact (check_recovery_set_sound C Z).
  Qed.

  Lemma rounding_is_covered :
    Robust.rounding_is_covered gS gI (mat_vec (B sys)) W (contains (U sys)) (contains input_set) send (in_sum measured_disturbance).
  Proof.
    intros u Hu; unfold send, input_set, total_disturbance, rounding_summands in *; destruct rounds eqn:E.
    - apply ltb_spec in E; split; [apply rounding_stays_in_U; assumption|].
      intros d Hd; simpl; rewrite vadd_comm; apply in_sum_app; [exact Hd|].
      exists (mat_vec (B sys) (vadd (rounded_vector (quantum sys) u) (vopp u))), (vzero n).
      split; [|split; [reflexivity | symmetry; apply vadd_zero]].
      eexists; split; [apply (rounding_error_in_box E) | reflexivity].
    - split; [exact Hu|]; intros d Hd; simpl; rewrite vadd_opp, mat_vec_zero, vadd_comm, vadd_zero, app_nil_r; exact Hd.
  Qed.

  (** ** The loop *)

  (** kernel: System.first_state_set. *)
  Definition first_state_set : polytope n :=
    map (fun row => (fst row, snd row - support (estimate_error sys) (vopp (fst row)))) (X sys).
  Definition first_state_ok (x : point n) : bool := check_contains first_state_set x.

  Lemma first_state_is_safe z e : first_state_ok z = true -> in_sum (estimate_error sys) e -> contains (X sys) (vadd z (vopp e)).
  Proof.
    unfold first_state_ok; rewrite check_contains_decides; intros H He g h I.
    pose proof (H _ _ (in_map (fun row => (fst row, snd row - support (estimate_error sys) (vopp (fst row)))) _ _ I)) as L.
    simpl in L; pose proof (support_bounds (g := vopp g) He) as S0.
    rewrite dot_add; unfold vopp in *; rewrite dot_scale_left in S0; rewrite dot_scale.
    set (a := dot g z) in *; set (c := - (1) * dot g e) in *; set (s := support _ _) in *; qc_order.
  Qed.

  Variable short_enough : Plan (point m) Name -> bool.
  Variable default_name : Name.

  (** kernel: AssuredSystem.input_anchor. *)
  Definition input_anchor : point m :=
    match recovery_sets sys, evidence with
    | (_, r) :: _, e :: _ => law_of r (member e)
    | _, _ => vzero m
    end.

  Definition loop : System (point n) (point m) Name :=
    Robust.robust_algorithm gS gI (mat_vec (A sys)) (mat_vec (B sys)) (b sys) (mat_vec (F sys)) offset_of send
      name_eq_dec system_names (order sys) (K sys) (T sys) kernel_check_plan short_enough (projected input_set input_anchor)
      first_state_ok (forallb summand_is_zero measured_disturbance) default_name.

  Notation plant := (Robust.plant gS (mat_vec (A sys)) (mat_vec (B sys)) (b sys) (in_sum measured_disturbance)).

  (** The laws that MachineProperties.v asks for hold of what the kernel computes. *)
  Theorem kernel_planner_laws : PlannerLaws loop plant (contains (X sys)) (contains (U sys)) X_R.
  Proof.
    destruct ok_parts as (_ & _ & _ & _ & KT & Ord & _).
    apply Robust.robust_planner_laws with (W := W) (U_plan := contains input_set).
    - apply mat_vec_additive.
    - apply mat_vec_additive.
    - apply mat_vec_additive.
    - exact sets_are_robustly_invariant.
    - exact rounding_is_covered.
    - exact KT.
    - exact Ord.
    - exact (kernel_check_plan_decides total_is_ordered).
    - intros E d Hd; exact (sum_is_zero_sound E Hd).
  Qed.

  (** Claim 4, totality: every input that is sent is in U, certified or not, from any state of the machine, as long
      as there is a recovery set at all. *)
  Theorem Kernel_every_input_is_in_U s i : recovery_sets sys <> [] -> contains (U sys) (input (transition loop s i)).
  Proof.
    intros NE; destruct (@claim_4_every_step_yields_an_admissible_input _ _ _ loop (contains (U sys))) with (s := s) (i := i)
      as (u & E & Hu); [| |rewrite E; exact Hu].
    - intros u; apply rounding_is_covered, projection_is_inside.
      pose proof proved as P; unfold assured in P; rewrite andb_true_iff, Nat.eqb_eq in P; destruct P as [L P].
      unfold input_anchor; destruct (recovery_sets sys) as [|[y r] sets]; [congruence|].
      destruct evidence as [|e es]; [discriminate|]; simpl in P; apply andb_true_iff in P; destruct P as [P _].
      unfold check_recovery_set in P; rewrite !andb_true_iff, check_contains_decides in P; destruct P as [[[Me _] _] Law].
      exact (check_inclusion_sound_plain Law Me).
    - intros x p C; apply (certified_is_safe kernel_planner_laws C).
  Qed.

  Section Execution.
    Variable env : nat -> StepInput (point n) (point m) Name.
    Variable xhat : nat -> point n.                   (* the estimate that is measured *)
    Variable x : nat -> point n.                      (* the true state *)
    Variable e : nat -> point n.
    Variable r : nat -> StepResult (point n) (point m) Name.
    (** Assumptions 1-3 of spec/README.md. *)
    Hypothesis start_accepted : start loop (env 0) = Some (r 0).
    Hypothesis loop_steps : forall t, r (S t) = transition loop (after (r t)) (env (S t)).
    Hypothesis plant_in_W : forall t, exists w, in_sum (declared sys) w /\ x (S t) = vadd (model (x t) (input (r t))) w.
    Hypothesis estimate : forall t, xhat t = vadd (x t) (e t).
    Hypothesis estimate_in_E : forall t, in_sum (estimate_error sys) (e t).
    Hypothesis first_measurement : measurement (env 0) = Some (xhat 0).
    Hypothesis measurements : forall t, reads_state loop (env (S t)) (xhat (S t)).
    Hypothesis never_overridden : forall t, overridden (env (S t)) = false.

    Lemma error_covered w e0 e1 : in_sum (declared sys) w -> in_sum (estimate_error sys) e0 -> in_sum (estimate_error sys) e1 ->
      in_sum measured_disturbance (vadd (vadd w e1) (vopp (mat_vec (A sys) e0))).
    Proof.
      intros Hw H0 H1; rewrite <- vadd_assoc; apply in_sum_app; [exact Hw | apply estimate_moves_in; assumption].
    Qed.

    Lemma loop_runs : execution loop plant env xhat r.
    Proof.
      constructor; auto; intros t; destruct (plant_in_W t) as (w & Hw & M).
      exists (vadd (vadd w (e (S t))) (vopp (mat_vec (A sys) (e t)))); split; [apply error_covered; auto|].
      rewrite !estimate, M; unfold Robust.model; simpl.
      pose proof (mat_vec_additive (A sys) (x t) (e t)) as Ad; simpl in Ad; rewrite Ad.
      set (a := mat_vec (A sys) (x t)); set (c := mat_vec (A sys) (e t)); set (d := mat_vec (B sys) _).
      set (f := e (S t)); set (k := b sys); rewrite !vadd_assoc.
      pose proof (@add_swap_right _ (vectors n)) as Sw; simpl in Sw.
      rewrite (Sw a c d), (Sw (vadd a d) c k), (Sw (vadd (vadd a d) k) c w), (Sw (vadd (vadd (vadd a d) k) w) c f).
      rewrite <- (vadd_assoc _ c (vopp c)), vadd_opp, vadd_zero; reflexivity.
    Qed.

    (** Claim 1: the true state is in X and the input that is sent is in U, at every t. *)
    Theorem Kernel_Theorem_1_claim_1 t : contains (X sys) (x t) /\ contains (U sys) (input (r t)).
    Proof.
      destruct ok_parts as (_ & _ & Z & _ & KT & Ord & _).
      apply (@Robust.Robust_true_state_claim_1 _ _ _ gS gI (mat_vec (A sys)) (mat_vec (B sys)) (b sys) (mat_vec (F sys))
        (mat_vec_additive _) (mat_vec_additive _) (mat_vec_additive _) W (contains (X sys)) (contains (U sys))
        (contains input_set) X_R offset_of send (in_sum measured_disturbance) sets_are_robustly_invariant
        rounding_is_covered name_eq_dec system_names (order sys) (K sys) (T sys) kernel_check_plan short_enough
        (projected input_set input_anchor) first_state_ok (forallb summand_is_zero measured_disturbance) default_name
        KT Ord (kernel_check_plan_decides total_is_ordered) (fun E d Hd => sum_is_zero_sound E Hd) env xhat r loop_runs never_overridden
        (in_sum (declared sys)) (in_sum (estimate_error sys)) x e error_covered (zero_in_sum Z) estimate estimate_in_E
        plant_in_W first_state_is_safe).
    Qed.

    (** Claim 2: at every t some recovery set has a plan for the full (K, T) that the kernel certifies at xhat_t. *)
    Theorem Kernel_Theorem_1_claim_2 t :
      exists y p, In y system_names /\ options p = [y] /\ consensus p = K sys /\ horizon p = T sys
        /\ kernel_check_plan (xhat t) p = true.
    Proof.
      destruct ok_parts as (_ & _ & _ & _ & KT & Ord & _).
      destruct (claim_2_a_certified_plan_is_held kernel_planner_laws loop_runs never_overridden t) as (C & Fit & y & Iy & In_y).
      apply (kernel_check_plan_decides total_is_ordered) in C.
      exists y, (kept_and_lengthened model kappa name_eq_dec (plan_at r t) (xhat t) y (K sys) (T sys)).
      split; [exact In_y|]; do 3 (split; [reflexivity|]).
      apply (kernel_check_plan_decides total_is_ordered).
      apply (lengthened_plan_certified (Robust.lengthened_plan_stays_in_tightened_sets (mat_vec_additive _)
        (mat_vec_additive _) (mat_vec_additive _) sets_are_robustly_invariant) name_eq_dec C Iy); [|lia].
      destruct (mode_at r t); simpl in Fit; lia.
    Qed.

    (** Claim 3: once y is engaged, k steps after t_anom = t - k, the true state is in X_R^y from t_anom + T + 1 on. *)
    Theorem Kernel_Theorem_1_claim_3 t k y :
      mode_at r t = Recovering y k -> not_resumed_after env t ->
      forall s, (t < s)%nat -> (t + T sys + 1 <= s + k)%nat -> X_R y (x s).
    Proof.
      destruct ok_parts as (_ & _ & Z & _ & KT & Ord & _).
      apply (@Robust.Robust_true_state_claim_3 _ _ _ gS gI (mat_vec (A sys)) (mat_vec (B sys)) (b sys) (mat_vec (F sys))
        (mat_vec_additive _) (mat_vec_additive _) (mat_vec_additive _) W (contains (X sys)) (contains (U sys))
        (contains input_set) X_R offset_of send (in_sum measured_disturbance) sets_are_robustly_invariant
        rounding_is_covered name_eq_dec system_names (order sys) (K sys) (T sys) kernel_check_plan short_enough
        (projected input_set input_anchor) first_state_ok (forallb summand_is_zero measured_disturbance) default_name
        KT Ord (kernel_check_plan_decides total_is_ordered) (fun E d Hd => sum_is_zero_sound E Hd) env xhat r loop_runs never_overridden
        (in_sum (declared sys)) (in_sum (estimate_error sys)) x e error_covered (zero_in_sum Z) estimate estimate_in_E
        plant_in_W).
    Qed.

    (** Claim 4: every step is certified, and every anomaly is decided by t_anom + K + 1. *)
    Theorem Kernel_Theorem_1_claim_4 :
      (forall t, is_certified (r t) = true) /\
      forall t_anom Y trigger, anomaly_at r t_anom Y trigger ->
      exists j, (1 <= j <= K sys + 1)%nat /\
        ((exists y, In y Y /\ mode_at r (t_anom + j) = Recovering y j) \/ cleared_at env (t_anom + j) trigger).
    Proof.
      split.
      - intros t; apply (every_step_is_certified kernel_planner_laws loop_runs never_overridden t).
      - intros t_anom Y trigger; apply (claim_4_decided_by_the_deadline kernel_planner_laws loop_runs never_overridden).
    Qed.
  End Execution.
End Kernel.
