(** Exact vectors and matrices over the canonical rationals, and what is needed of their order.

    Qc is Q with reduced fractions, so equal numbers are equal terms, as with flint's fmpq. kernel: rational.py. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon Lqa.
From Aesop Require Import Robust.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

(** Linear inequalities over Qc, by the same over Q. *)
Lemma this_plus a b : (this (a + b) == this a + this b)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_opp a : (this (- a) == - this a)%Q.
Proof. apply Qred_correct. Qed.
Lemma this_minus a b : (this (a - b) == this a - this b)%Q.
Proof. unfold Qcminus; rewrite this_plus, this_opp; reflexivity. Qed.

Ltac qc_order :=
  unfold Qcle, Qclt in *; repeat (rewrite ?this_plus, ?this_minus, ?this_opp in * ); simpl this in *; lra.

Lemma Qc_le_dec_spec (a b : Qc) : (if Qclt_le_dec b a then false else true) = true <-> a <= b.
Proof.
  destruct (Qclt_le_dec b a) as [H|H]; split; intros; try discriminate; auto.
  exfalso; apply (Qclt_not_le _ _ H); assumption.
Qed.

Definition leb (a b : Qc) : bool := if Qclt_le_dec b a then false else true.
Definition ltb (a b : Qc) : bool := negb (leb b a).

Lemma leb_spec a b : leb a b = true <-> a <= b.
Proof. apply Qc_le_dec_spec. Qed.

Lemma ltb_spec a b : ltb a b = true <-> a < b.
Proof.
  unfold ltb; rewrite negb_true_iff; split; intros H.
  - destruct (Qclt_le_dec a b) as [L|L]; [exact L | apply leb_spec in L; congruence].
  - destruct (leb b a) eqn:E; [apply leb_spec in E; exfalso; apply (Qclt_not_le _ _ H); exact E | reflexivity].
Qed.

Lemma mult_le_nonneg c a b : 0 <= c -> a <= b -> c * a <= c * b.
Proof. intros Hc H; rewrite !(Qcmult_comm c); apply Qcmult_le_compat_r; auto. Qed.

Lemma mult_le_nonpos c a b : c <= 0 -> a <= b -> c * b <= c * a.
Proof.
  intros Hc H; assert (N : 0 <= - c) by qc_order.
  pose proof (mult_le_nonneg N H) as M.
  assert (E1 : - c * a = - (c * a)) by ring; assert (E2 : - c * b = - (c * b)) by ring.
  rewrite E1, E2 in M; qc_order.
Qed.

(** * Vectors of dimension n: n-fold pairs *)

Fixpoint vec (A : Type) (n : nat) : Type := match n with O => unit | S n => (A * vec A n)%type end.

Notation point n := (vec Qc n).
(** p rows of length n. *)
Notation matrix p n := (vec (vec Qc n) p).

Fixpoint vzero (n : nat) : point n := match n with O => tt | S n => (0, vzero n) end.

Fixpoint vadd {n} : point n -> point n -> point n :=
  match n with O => fun _ _ => tt | S n => fun x y => (fst x + fst y, vadd (snd x) (snd y)) end.

Fixpoint vscale {n} (c : Qc) : point n -> point n :=
  match n with O => fun _ => tt | S n => fun x => (c * fst x, vscale c (snd x)) end.

Definition vopp {n} (x : point n) : point n := vscale (- (1)) x.

Fixpoint dot {n} : point n -> point n -> Qc :=
  match n with O => fun _ _ => 0 | S n => fun x y => fst x * fst y + dot (snd x) (snd y) end.

Fixpoint vec_eq_dec {n} : forall x y : point n, {x = y} + {x <> y}.
Proof.
  destruct n as [|n]; intros x y.
  - destruct x, y; left; reflexivity.
  - destruct x as [a x], y as [b y].
    destruct (Qc_eq_dec a b) as [->|N]; [|right; congruence].
    destruct (vec_eq_dec n x y) as [->|N]; [left; reflexivity | right; congruence].
Defined.

(** M x *)
Fixpoint mat_vec {p n} : matrix p n -> point n -> point p :=
  match p with O => fun _ _ => tt | S p => fun M x => (dot (fst M) x, mat_vec (snd M) x) end.

(** g^T M, a row *)
Fixpoint vec_mat {p n} : point p -> matrix p n -> point n :=
  match p with O => fun _ _ => vzero n | S p => fun g M => vadd (vscale (fst g) (fst M)) (vec_mat (snd g) (snd M)) end.

Ltac vector_induction n := induction n as [|n IH]; intros; simpl in *;
  repeat match goal with x : unit |- _ => destruct x | x : (_ * _)%type |- _ => destruct x end; simpl in *.

Lemma vadd_comm n (x y : point n) : vadd x y = vadd y x.
Proof. revert x y; vector_induction n; [reflexivity|]; f_equal; [ring | apply IH]. Qed.

Lemma vadd_assoc n (x y z : point n) : vadd x (vadd y z) = vadd (vadd x y) z.
Proof. revert x y z; vector_induction n; [reflexivity|]; f_equal; [ring | apply IH]. Qed.

Lemma vadd_zero n (x : point n) : vadd x (vzero n) = x.
Proof. revert x; vector_induction n; [reflexivity|]; f_equal; [ring | apply IH]. Qed.

Lemma vadd_opp n (x : point n) : vadd x (vopp x) = vzero n.
Proof. unfold vopp; revert x; vector_induction n; [reflexivity|]; f_equal; [ring | apply IH]. Qed.

Definition vectors (n : nat) : CommutativeGroup (point n) := {|
  zero := vzero n; add := vadd; opposite := vopp;
  add_comm := @vadd_comm n; add_assoc := @vadd_assoc n; add_zero := @vadd_zero n; add_opposite := @vadd_opp n
|}.

Lemma dot_comm n (x y : point n) : dot x y = dot y x.
Proof. revert x y; vector_induction n; [reflexivity|]; rewrite IH; ring. Qed.

Lemma dot_add n (g x y : point n) : dot g (vadd x y) = dot g x + dot g y.
Proof. revert g x y; vector_induction n; [ring|]; rewrite IH; ring. Qed.

Lemma dot_add_left n (g k x : point n) : dot (vadd g k) x = dot g x + dot k x.
Proof. rewrite !(dot_comm _ x), dot_add; reflexivity. Qed.

Lemma dot_scale_left n c (g x : point n) : dot (vscale c g) x = c * dot g x.
Proof. revert g x; vector_induction n; [ring|]; rewrite IH; ring. Qed.

Lemma dot_scale n c (g x : point n) : dot g (vscale c x) = c * dot g x.
Proof. rewrite dot_comm, dot_scale_left, dot_comm; reflexivity. Qed.

Lemma dot_zero_left n (x : point n) : dot (vzero n) x = 0.
Proof. revert x; vector_induction n; [reflexivity|]; rewrite IH; ring. Qed.

Lemma dot_zero n (g : point n) : dot g (vzero n) = 0.
Proof. rewrite dot_comm; apply dot_zero_left. Qed.

Lemma mat_vec_additive p n (M : matrix p n) : additive (vectors n) (vectors p) (mat_vec M).
Proof.
  intros x y; simpl; revert M; induction p as [|p IH]; intros M; simpl; [reflexivity|].
  rewrite dot_add, IH; reflexivity.
Qed.

(** g (M x) = (g M) x *)
Lemma dot_mat_vec p n (g : point p) (M : matrix p n) (x : point n) : dot g (mat_vec M x) = dot (vec_mat g M) x.
Proof.
  revert g M; induction p as [|p IH]; intros g M; simpl; [rewrite dot_zero_left; reflexivity|].
  rewrite dot_add_left, dot_scale_left, IH; reflexivity.
Qed.

(** Lists of a wanted length as vectors, for readers of files. *)
Fixpoint vec_of_list {A} (n : nat) (l : list A) : option (vec A n) :=
  match n, l with
  | O, [] => Some tt
  | S n, a :: l => match vec_of_list n l with Some v => Some (a, v) | None => None end
  | _, _ => None
  end.

Fixpoint list_of_vec {A} (n : nat) : vec A n -> list A :=
  match n with O => fun _ => [] | S n => fun v => fst v :: list_of_vec (snd v) end.
