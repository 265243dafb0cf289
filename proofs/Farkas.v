(** Soundness of the kernel's checks about polytopes: each evidence that a check accepts proves its statement.

    kernel: polytope.Polytope, inclusion.py, invariance.py. The functions here are computable and are written to
    accept exactly what the kernel accepts; untrusted code finds the multipliers. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Robust Vectors.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

(** {x : g x <= h for every row (g, h)}. kernel: polytope.Polytope. *)
Definition polytope (n : nat) : Type := list (point n * Qc).

Definition contains {n} (P : polytope n) (x : point n) : Prop := forall g h, In (g, h) P -> dot g x <= h.

(** kernel: Polytope.contains. *)
Definition check_contains {n} (P : polytope n) (x : point n) : bool := forallb (fun row => leb (dot (fst row) x) (snd row)) P.

Theorem check_contains_decides n (P : polytope n) x : check_contains P x = true <-> contains P x.
Proof.
  unfold check_contains, contains; rewrite forallb_forall; split.
  - intros H g h I; apply leb_spec, (H (g, h) I).
  - intros H [g h] I; apply leb_spec, (H g h I).
Qed.

(** * Farkas multipliers *)

(** sum_i l_i G_i and sum_i l_i h_i *)
Fixpoint combined_normal {n} (l : list Qc) (P : polytope n) : point n :=
  match l, P with a :: l, (g, _) :: P => vadd (vscale a g) (combined_normal l P) | _, _ => vzero n end.

Fixpoint combined_bound {n} (l : list Qc) (P : polytope n) : Qc :=
  match l, P with a :: l, (_, h) :: P => a * h + combined_bound l P | _, _ => 0 end.

Definition nonnegative (l : list Qc) : bool := forallb (leb 0) l.

Lemma nonnegative_combination_bounds n (l : list Qc) : forall (P : polytope n) x,
  nonnegative l = true -> contains P x -> dot (combined_normal l P) x <= combined_bound l P.
Proof.
  induction l as [|a l IH]; intros P x N C; simpl; [rewrite dot_zero_left; apply Qcle_refl|].
  destruct P as [|[g h] P]; simpl; [rewrite dot_zero_left; apply Qcle_refl|].
  simpl in N; apply andb_true_iff in N; destruct N as [Na N]; apply leb_spec in Na.
  rewrite dot_add_left, dot_scale_left; apply Qcplus_le_compat.
  - apply mult_le_nonneg; [exact Na | apply C; left; reflexivity].
  - apply IH; [exact N | intros g' h' I; apply C; right; exact I].
Qed.

(** l >= 0, l G = target, and l h is at most [bound]. *)
Definition check_row {n} (P : polytope n) (l : list Qc) (target : point n) (bound : Qc) : bool :=
  Nat.eqb (length l) (length P) && nonnegative l
  && (if vec_eq_dec (combined_normal l P) target then true else false) && leb (combined_bound l P) bound.

Theorem check_row_sound n (P : polytope n) l target bound :
  check_row P l target bound = true -> forall x, contains P x -> dot target x <= bound.
Proof.
  unfold check_row; rewrite !andb_true_iff; intros [[[_ N] E] B] x C.
  destruct (vec_eq_dec _ _) as [<-|]; [|discriminate]; apply leb_spec in B.
  apply Qcle_trans with (combined_bound l P); [apply nonnegative_combination_bounds; auto | exact B].
Qed.

(** * Inclusion under an affine map: L >= 0, L G_in = G_out M, L h_in + G_out c + margin <= h_out *)

(** kernel: inclusion.check_inclusion, for FarkasRows: one row of multipliers and one margin a facet of [outer]. *)
Fixpoint check_inclusion {n p} (inner : polytope n) (outer : polytope p) (L : list (list Qc))
    (M : matrix p n) (c : point p) (margin : list Qc) : bool :=
  match outer, L, margin with
  | [], [], [] => true
  | (g, h) :: outer, l :: L, m :: margin =>
      check_row inner l (vec_mat g M) (h - dot g c - m) && check_inclusion inner outer L M c margin
  | _, _, _ => false
  end.

Theorem check_inclusion_sound n p (inner : polytope n) (outer : polytope p) L M c margin :
  check_inclusion inner outer L M c margin = true ->
  length margin = length outer /\
  forall x, contains inner x -> forall i g h m, nth_error outer i = Some (g, h) -> nth_error margin i = Some m ->
    dot g (vadd (mat_vec M x) c) + m <= h.
Proof.
  revert L margin; induction outer as [|[g h] outer IH]; intros [|l L] [|m margin] H; simpl in H; try discriminate.
  - split; [reflexivity | intros x _ i g h m E; destruct i; discriminate].
  - apply andb_true_iff in H; destruct H as [R H]; destruct (IH _ _ H) as [IL IC]; split; [simpl; auto|].
    intros x C [|i] g' h' m' E Em; simpl in E, Em; [|exact (IC x C i g' h' m' E Em)].
    injection E as <- <-; injection Em as <-.
    pose proof (check_row_sound R C) as B; rewrite <- dot_mat_vec in B.
    rewrite dot_add; qc_order.
Qed.

(** Without a margin: the image of [inner] is inside [outer]. *)
Corollary check_inclusion_sound_plain n p (inner : polytope n) (outer : polytope p) L M c :
  check_inclusion inner outer L M c (map (fun _ => 0) outer) = true ->
  forall x, contains inner x -> contains outer (vadd (mat_vec M x) c).
Proof.
  intros H x C g h I; apply check_inclusion_sound in H; destruct H as [_ H].
  apply In_nth_error in I; destruct I as [i I].
  pose proof (H x C i g h 0 I) as B.
  assert (E : nth_error (map (fun _ : point p * Qc => 0) outer) i = Some 0).
  { apply (map_nth_error (fun _ : point p * Qc => 0) i outer I). }
  specialize (B E); rewrite Qcplus_0_r in B; exact B.
Qed.

(** A witness refutes: a point of [inner] whose image violates a facet. kernel: inclusion.check_inclusion, for WitnessPoint. *)
Definition check_escape {n p} (inner : polytope n) (outer : polytope p) (M : matrix p n) (c : point p)
    (margin : list Qc) (x : point n) : bool :=
  check_contains inner x
  && existsb (fun row => ltb (snd (fst row)) (dot (fst (fst row)) (vadd (mat_vec M x) c) + snd row)) (combine outer margin).

Theorem check_escape_sound n p (inner : polytope n) (outer : polytope p) M c margin x :
  check_escape inner outer M c margin x = true ->
  contains inner x /\ exists i g h m, nth_error outer i = Some (g, h) /\ nth_error margin i = Some m
    /\ h < dot g (vadd (mat_vec M x) c) + m.
Proof.
  unfold check_escape; rewrite andb_true_iff, check_contains_decides; intros [C E]; split; [exact C|]; clear C.
  apply existsb_exists in E; destruct E as ([[g h] m] & I & B); simpl in B; apply ltb_spec in B.
  revert margin I; induction outer as [|[g' h'] outer IH]; intros [|m' margin] I; simpl in I; try contradiction.
  destruct I as [I|I].
  - injection I as <- <- <-; exists O, g', h', m'; auto.
  - destruct (IH margin I) as (i & H); exists (S i); exact H.
Qed.

(** * Emptiness: l >= 0, l G = 0, l h < 0 *)

(** kernel: inclusion.check_empty. *)
Definition check_empty {n} (P : polytope n) (l : list Qc) : bool :=
  Nat.eqb (length l) (length P) && nonnegative l
  && (if vec_eq_dec (combined_normal l P) (vzero n) then true else false) && ltb (combined_bound l P) 0.

Theorem check_empty_sound n (P : polytope n) l : check_empty P l = true -> forall x, ~ contains P x.
Proof.
  unfold check_empty; rewrite !andb_true_iff; intros [[[_ N] E] B] x C.
  destruct (vec_eq_dec _ _) as [E0|]; [|discriminate]; apply ltb_spec in B.
  pose proof (nonnegative_combination_bounds N C) as H; rewrite E0, dot_zero_left in H.
  exact (Qclt_not_le _ _ B H).
Qed.

(** * Support values: attained at a member, and an upper bound by multipliers *)

(** kernel: inclusion.check_support. *)
Definition check_support {n} (P : polytope n) (direction maximiser : point n) (l : list Qc) : bool :=
  check_contains P maximiser && check_row P l direction (dot direction maximiser).

Theorem check_support_sound n (P : polytope n) direction maximiser l :
  check_support P direction maximiser l = true ->
  contains P maximiser /\ forall x, contains P x -> dot direction x <= dot direction maximiser.
Proof.
  unfold check_support; rewrite andb_true_iff, check_contains_decides; intros [C R]; split; [exact C|].
  intros x; apply (check_row_sound R).
Qed.

(** * Boundedness *)

Fixpoint unit_vector (n i : nat) : point n :=
  match n, i with O, _ => tt | S n, O => (1, vzero n) | S n, S i => (0, unit_vector n i) end.

Fixpoint coordinate {n} (i : nat) : point n -> Qc :=
  match n with O => fun _ => 0 | S n => fun x => match i with O => fst x | S i => coordinate i (snd x) end end.

Lemma dot_unit_vector n i (x : point n) : dot (unit_vector n i) x = coordinate i x.
Proof.
  revert i; induction n as [|n IH]; intros i; [reflexivity|]; destruct i; simpl.
  - rewrite dot_zero_left; ring.
  - rewrite IH; ring.
Qed.

(** Rows +x_i <= b, -x_i <= b', from Farkas multipliers. kernel: inclusion.check_bounded, for BoundingBox. *)
Fixpoint check_box {n} (P : polytope n) (i : nat) (rows : list (Qc * list Qc * Qc * list Qc)) : bool :=
  match rows with
  | [] => Nat.eqb i n
  | (up, lu, low, ll) :: rows =>
      check_row P lu (unit_vector n i) up && check_row P ll (vopp (unit_vector n i)) low && check_box P (S i) rows
  end.

Theorem check_box_sound n (P : polytope n) rows :
  check_box P 0 rows = true ->
  exists bound : nat -> Qc * Qc, forall x, contains P x -> forall i, (i < n)%nat ->
    fst (bound i) <= coordinate i x /\ coordinate i x <= snd (bound i).
Proof.
  assert (G : forall rows i, check_box P i rows = true ->
    exists bound : nat -> Qc * Qc, forall x, contains P x -> forall j, (i <= j < n)%nat ->
      fst (bound j) <= coordinate j x /\ coordinate j x <= snd (bound j)).
  { clear rows; induction rows as [|[[[up lu] low] ll] rows IH]; intros i H; simpl in H.
    - apply Nat.eqb_eq in H; exists (fun _ => (0, 0)); intros x _ j L; lia.
    - rewrite !andb_true_iff in H; destruct H as [[Hu Hl] H]; destruct (IH _ H) as [bound B].
      exists (fun j => if Nat.eqb j i then (- low, up) else bound j); intros x C j L.
      destruct (Nat.eqb_spec j i) as [->|N]; [|apply B; [exact C | lia]]; simpl.
      pose proof (check_row_sound Hu C) as U1; pose proof (check_row_sound Hl C) as L1.
      unfold vopp in L1; rewrite dot_scale_left in L1; rewrite dot_unit_vector in U1, L1.
      assert (E : - (1) * coordinate i x = - coordinate i x) by ring; rewrite E in L1.
      split; [qc_order | exact U1]. }
  intros H; destruct (G _ _ H) as [bound B]; exists bound; intros x C i L; apply B; [exact C | lia].
Qed.
