(** W as a sum of affine images of boxes, its support values, and the tightened right-hand sides of a polytope.

    kernel: disturbance.py, model.Tightening. For these sets the offsets h_{R_k}(g) give exactly the Pontryagin
    difference X - R_k of Robust.v, in both directions. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Robust Vectors Farkas.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

(** * One summand *)

(** {map v : lower <= v <= upper}. kernel: disturbance.Summand. *)
Record Summand (n : nat) : Type := {
  parameters : nat;
  image : matrix n parameters;
  lower : point parameters;
  upper : point parameters
}.

Fixpoint in_box {p} : point p -> point p -> point p -> Prop :=
  match p with
  | O => fun _ _ _ => True
  | S p => fun l u v => (fst l <= fst v /\ fst v <= fst u) /\ in_box (snd l) (snd u) (snd v)
  end.

Fixpoint box_is_ordered {p} : point p -> point p -> bool :=
  match p with O => fun _ _ => true | S p => fun l u => leb (fst l) (fst u) && box_is_ordered (snd l) (snd u) end.

(** sum_i w_i (u_i if w_i > 0 else l_i). kernel: Summand.support_of_weights. *)
Fixpoint box_support {p} : point p -> point p -> point p -> Qc :=
  match p with
  | O => fun _ _ _ => 0
  | S p => fun l u w => fst w * (if leb (fst w) 0 then fst l else fst u) + box_support (snd l) (snd u) (snd w)
  end.

Fixpoint box_maximiser {p} : point p -> point p -> point p -> point p :=
  match p with
  | O => fun _ _ _ => tt
  | S p => fun l u w => ((if leb (fst w) 0 then fst l else fst u), box_maximiser (snd l) (snd u) (snd w))
  end.

Lemma box_support_bounds p (l u w v : point p) : in_box l u v -> dot w v <= box_support l u w.
Proof.
  revert l u w v; induction p as [|p IH]; intros l u w v H; simpl; [apply Qcle_refl|].
  destruct H as [[Hl Hu] H]; apply Qcplus_le_compat; [|apply IH; exact H].
  destruct (leb (fst w) 0) eqn:E.
  - apply leb_spec in E; apply mult_le_nonpos; auto.
  - apply mult_le_nonneg; [|exact Hu].
    apply Qclt_le_weak; apply ltb_spec; unfold ltb; rewrite E; reflexivity.
Qed.

Lemma box_support_attained p (l u w : point p) : box_is_ordered l u = true ->
  in_box l u (box_maximiser l u w) /\ dot w (box_maximiser l u w) = box_support l u w.
Proof.
  revert l u w; induction p as [|p IH]; intros l u w H; simpl; [auto|].
  simpl in H; apply andb_true_iff in H; destruct H as [H0 H]; apply leb_spec in H0.
  destruct (IH _ _ (snd w) H) as [I E]; rewrite E.
  split; [split; [|exact I] | reflexivity].
  destruct (leb (fst w) 0); split; auto using Qcle_refl.
Qed.

Definition in_summand {n} (s : Summand n) (w : point n) : Prop :=
  exists v, in_box (lower s) (upper s) v /\ w = mat_vec (image s) v.

(** kernel: Summand.support. *)
Definition summand_support {n} (s : Summand n) (g : point n) : Qc := box_support (lower s) (upper s) (vec_mat g (image s)).

(** * W *)

(** kernel: disturbance.Disturbance. *)
Fixpoint in_sum {n} (W : list (Summand n)) (w : point n) : Prop :=
  match W with
  | [] => w = vzero n
  | s :: W => exists a b, in_summand s a /\ in_sum W b /\ w = vadd a b
  end.

(** kernel: Disturbance.support. *)
Definition support {n} (W : list (Summand n)) (g : point n) : Qc := fold_right (fun s total => summand_support s g + total) 0 W.

(** kernel: Summand.__post_init__ refuses lower > upper. *)
Definition well_formed {n} (W : list (Summand n)) : bool := forallb (fun s => box_is_ordered (lower s) (upper s)) W.

Theorem support_bounds n (W : list (Summand n)) g w : in_sum W w -> dot g w <= support W g.
Proof.
  revert w; induction W as [|s W IH]; intros w H; simpl in *.
  - subst; rewrite dot_zero; apply Qcle_refl.
  - destruct H as (a & b & (v & Hv & ->) & Hb & ->); rewrite dot_add; apply Qcplus_le_compat; [|apply IH; exact Hb].
    rewrite dot_mat_vec; apply box_support_bounds; exact Hv.
Qed.

Theorem support_attained n (W : list (Summand n)) g : well_formed W = true -> exists w, in_sum W w /\ dot g w = support W g.
Proof.
  induction W as [|s W IH]; intros H; simpl in *.
  - exists (vzero n); split; [reflexivity | apply dot_zero].
  - apply andb_true_iff in H; destruct H as [H0 H]; destruct (IH H) as (b & Hb & Eb).
    destruct (box_support_attained (vec_mat g (image s)) H0) as [I E].
    exists (vadd (mat_vec (image s) (box_maximiser (lower s) (upper s) (vec_mat g (image s)))) b); split.
    + do 2 eexists; split; [eexists; split; [exact I | reflexivity] | split; [exact Hb | reflexivity]].
    + rewrite dot_add, dot_mat_vec, Eb; unfold summand_support; rewrite <- E; reflexivity.
Qed.

Lemma in_sum_app n (W V : list (Summand n)) a b : in_sum W a -> in_sum V b -> in_sum (W ++ V) (vadd a b).
Proof.
  revert a; induction W as [|s W IH]; intros a Ha Hb; simpl in *.
  - subst; rewrite vadd_comm, vadd_zero; exact Hb.
  - destruct Ha as (c & d & Hc & Hd & ->); exists c, (vadd d b); split; [exact Hc|]; split; [apply IH; auto|].
    symmetry; apply vadd_assoc.
Qed.

(** * R_k and the tightened right-hand sides *)

Section Tightening.
  Variables n m : nat.
  Variable A : matrix n n.
  Variable B : matrix n m.
  Variable F : matrix m n.
  Variable W : list (Summand n).
  Hypothesis ordered : well_formed W = true.

  Notation gS := (vectors n).
  Notation Acl := (Robust.Acl gS (mat_vec A) (mat_vec B) (mat_vec F)).
  Notation power := (Robust.power gS (mat_vec A) (mat_vec B) (mat_vec F)).
  Notation R := (Robust.R gS (mat_vec A) (mat_vec B) (mat_vec F) (in_sum W)).

  (** g Acl = g A + (g B) F, and g Acl^k. *)
  Definition row_acl (g : point n) : point n := vadd (vec_mat g A) (vec_mat (vec_mat g B) F).
  Fixpoint row_power (k : nat) (g : point n) : point n := match k with O => g | S k => row_power k (row_acl g) end.

  Lemma dot_acl g v : dot g (Acl v) = dot (row_acl g) v.
  Proof. unfold Robust.Acl, row_acl; simpl; rewrite dot_add, dot_add_left, !dot_mat_vec; reflexivity. Qed.

  Lemma dot_power k g v : dot g (power k v) = dot (row_power k g) v.
  Proof.
    revert g; induction k as [|k IH]; intros g; [reflexivity|].
    change (power (S k) v) with (Acl (power k v)); rewrite dot_acl; apply IH.
  Qed.

  (** h_{R_k}(g) = sum over j < k of h_W(g Acl^j). kernel: Tightening.of. *)
  Fixpoint tube_support (k : nat) (g : point n) : Qc :=
    match k with O => 0 | S k => tube_support k g + support W (row_power k g) end.

  Theorem tube_support_bounds k g r : R k r -> dot g r <= tube_support k g.
  Proof.
    revert r; induction k as [|k IH]; intros r H; simpl in *.
    - subst; rewrite dot_zero; apply Qcle_refl.
    - destruct H as (r0 & w & Hr & Hw & ->); rewrite dot_add; apply Qcplus_le_compat; [apply IH; exact Hr|].
      rewrite dot_power; apply support_bounds; exact Hw.
  Qed.

  Theorem tube_support_attained k g : exists r, R k r /\ dot g r = tube_support k g.
  Proof.
    induction k as [|k (r & Hr & Er)]; simpl.
    - exists (vzero n); split; [reflexivity | apply dot_zero].
    - destruct (support_attained (row_power k g) ordered) as (w & Hw & Ew).
      exists (vadd r (power k w)); split; [exists r, w; auto|].
      rewrite dot_add, dot_power, Er, Ew; reflexivity.
  Qed.

  (** The rows of X - R_k. kernel: Tightening.state_set, .recovery_set. *)
  Definition tightened (P : polytope n) (k : nat) : polytope n :=
    map (fun row => (fst row, snd row - tube_support k (fst row))) P.

  (** The rows of U - F R_k. kernel: Tightening.input_set. *)
  Definition tightened_inputs (P : polytope m) (k : nat) : polytope m :=
    map (fun row => (fst row, snd row - tube_support k (vec_mat (fst row) F))) P.

  (** The tightened rows describe exactly the Pontryagin difference. *)
  Theorem tightened_is_pontryagin_difference P k z :
    contains (tightened P k) z <-> Robust.minus gS (mat_vec A) (mat_vec B) (mat_vec F) (in_sum W) (contains P) k z.
  Proof.
    split.
    - intros H r Hr g h I; simpl; rewrite dot_add.
      pose proof (tube_support_bounds (g := g) Hr) as B0.
      assert (J : In (g, h - tube_support k g) (tightened P k))
        by (apply (in_map (fun row => (fst row, snd row - tube_support k (fst row))) P _ I)).
      pose proof (H _ _ J); qc_order.
    - intros H g h I; apply in_map_iff in I; destruct I as ([g0 h0] & E & I); simpl in E; injection E as <- <-.
      destruct (tube_support_attained k g0) as (r & Hr & Er).
      pose proof (H r Hr g0 h0 I) as B0; simpl in B0; rewrite dot_add, Er in B0; qc_order.
  Qed.

  Theorem tightened_inputs_is_pontryagin_difference P k u :
    contains (tightened_inputs P k) u
    <-> Robust.minus_inputs gS (vectors m) (mat_vec A) (mat_vec B) (mat_vec F) (in_sum W) (contains P) k u.
  Proof.
    split.
    - intros H r Hr g h I; simpl; rewrite dot_add, dot_mat_vec.
      pose proof (tube_support_bounds (g := vec_mat g F) Hr) as B0.
      assert (J : In (g, h - tube_support k (vec_mat g F)) (tightened_inputs P k))
        by (apply (in_map (fun row => (fst row, snd row - tube_support k (vec_mat (fst row) F))) P _ I)).
      pose proof (H _ _ J); qc_order.
    - intros H g h I; apply in_map_iff in I; destruct I as ([g0 h0] & E & I); simpl in E; injection E as <- <-.
      destruct (tube_support_attained k (vec_mat g0 F)) as (r & Hr & Er).
      pose proof (H r Hr g0 h0 I) as B0; simpl in B0; rewrite dot_add, dot_mat_vec, Er in B0; qc_order.
  Qed.
End Tightening.
