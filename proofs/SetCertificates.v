(** What the checker command answers for certificate files about sets, and what its answers mean.

    These functions, and those of SystemCertificates.v, NoPlan.v and FlightLog.v, are extracted to OCaml (Extract.v);
    the command reads a file, calls one of them and prints the outcome. The kinds are those of
    aesop_verified/evidence/certificates.py. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Robust Vectors Farkas Independence.
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
