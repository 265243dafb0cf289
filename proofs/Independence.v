(** Linear independence by elimination, and the affine dimension of a polytope from members and equalities.

    kernel: inclusion.check_dimension. *)

From Coq Require Import List Arith Bool Lia QArith Qcanon.
From Aesop Require Import Vectors Farkas.
Import ListNotations.
Set Implicit Arguments.
Unset Strict Implicit.
Local Open Scope Qc_scope.

Fixpoint weighted_sum {n} (ws : list (Qc * point n)) : point n :=
  match ws with [] => vzero n | (c, v) :: ws => vadd (vscale c v) (weighted_sum ws) end.

(** Only the weights 0 add up to 0. *)
Definition independent {n} (vs : list (point n)) : Prop :=
  forall ws, map snd ws = vs -> weighted_sum ws = vzero n -> forall c v, In (c, v) ws -> c = 0.

(** The first vector whose first entry is not 0, with those before and after it. *)
Fixpoint pivot {n} (vs : list (point (S n))) : option (list (point (S n)) * point (S n) * list (point (S n))) :=
  match vs with
  | [] => None
  | v :: rest =>
      if Qc_eq_dec (fst v) 0 then match pivot rest with Some (b, p, a) => Some (v :: b, p, a) | None => None end
      else Some ([], v, rest)
  end.

Definition reduced {n} (p v : point (S n)) : point n := vadd (snd v) (vscale (- (fst v / fst p)) (snd p)).

Fixpoint check_independent {n} : list (point n) -> bool :=
  match n with
  | O => fun vs => match vs with [] => true | _ => false end
  | S n => fun vs => match pivot vs with
                     | None => check_independent (map (fun v : point (S n) => snd v) vs)
                     | Some (b, p, a) => check_independent (map (reduced p) (b ++ a))
                     end
  end.

Lemma pivot_splits n (vs : list (point (S n))) b p a : pivot vs = Some (b, p, a) -> vs = b ++ p :: a /\ fst p <> 0.
Proof.
  revert b; induction vs as [|v vs IH]; intros b H; simpl in H; [discriminate|].
  destruct (Qc_eq_dec (fst v) 0) as [E|N].
  - destruct (pivot vs) as [[[b' p'] a']|]; [|discriminate]; injection H as <- <- <-.
    destruct (IH b' eq_refl) as [-> Np]; split; [reflexivity | exact Np].
  - injection H as <- <- <-; auto.
Qed.

Lemma vscale_by_zero n (v : point n) : vscale 0 v = vzero n.
Proof. induction n as [|n IH]; simpl; [reflexivity|]; rewrite IH; f_equal; ring. Qed.

Lemma weighted_sum_app n (w1 w2 : list (Qc * point n)) : weighted_sum (w1 ++ w2) = vadd (weighted_sum w1) (weighted_sum w2).
Proof.
  induction w1 as [|[c v] w1 IH]; simpl; [rewrite vadd_comm, vadd_zero; reflexivity|].
  rewrite IH, vadd_assoc; reflexivity.
Qed.

Lemma zero_weights n (ws : list (Qc * point n)) : (forall c v, In (c, v) ws -> c = 0) -> weighted_sum ws = vzero n.
Proof.
  induction ws as [|[c v] ws IH]; intros H; simpl; [reflexivity|].
  rewrite IH by (intros; eapply H; right; eassumption); rewrite (H c v (or_introl eq_refl)), vadd_zero; apply vscale_by_zero.
Qed.

Lemma reduction_step n (a s e : point n) c k1 k2 :
  vadd (vscale c (vadd a (vscale k1 e))) (vadd s (vscale k2 e)) = vadd (vadd (vscale c a) s) (vscale (c * k1 + k2) e).
Proof. revert a s e; induction n as [|n IH]; intros a s e; simpl; [reflexivity|]; rewrite IH; f_equal; ring. Qed.

Lemma tail_of_weighted_sum n (ws : list (Qc * point (S n))) :
  weighted_sum (map (fun cv => (fst cv, snd (snd cv))) ws) = snd (weighted_sum ws).
Proof. induction ws as [|[c v] ws IH]; simpl; [reflexivity|]; rewrite IH; reflexivity. Qed.

Lemma reduced_weighted_sum n (p : point (S n)) (ws : list (Qc * point (S n))) : fst p <> 0 ->
  weighted_sum (map (fun cv => (fst cv, reduced p (snd cv))) ws)
  = vadd (snd (weighted_sum ws)) (vscale (- (fst (weighted_sum ws) / fst p)) (snd p)).
Proof.
  intros Np; induction ws as [|[c v] ws IH].
  - simpl; assert (E : - (0 / fst p) = 0) by (field; exact Np); rewrite E, vscale_by_zero, vadd_zero; reflexivity.
  - change (vadd (vscale c (reduced p v)) (weighted_sum (map (fun cv => (fst cv, reduced p (snd cv))) ws))
      = vadd (vadd (vscale c (snd v)) (snd (weighted_sum ws)))
             (vscale (- ((c * fst v + fst (weighted_sum ws)) / fst p)) (snd p))).
    rewrite IH; unfold reduced; rewrite reduction_step; f_equal; f_equal; field; exact Np.
Qed.

Theorem check_independent_sound n (vs : list (point n)) : check_independent vs = true -> independent vs.
Proof.
  revert vs; induction n as [|n IH]; intros vs H ws E Z c v I; simpl in H.
  - destruct vs; [|discriminate]; destruct ws; [destruct I | discriminate].
  - destruct (pivot vs) as [[[b p] a]|] eqn:Pv.
    + apply pivot_splits in Pv; destruct Pv as [-> Np].
      apply map_eq_app in E; destruct E as (w1 & w2' & -> & E1 & E2).
      destruct w2' as [|[c0 p0] w2]; [discriminate|]; simpl in E2; injection E2 as -> E2.
      assert (Sum : vadd (weighted_sum (w1 ++ w2)) (vscale c0 p) = vzero (S n)).
      { rewrite <- Z, !weighted_sum_app; cbn [weighted_sum].
        rewrite (vadd_comm (vscale c0 p)), vadd_assoc; reflexivity. }
      set (total := weighted_sum (w1 ++ w2)) in *.
      assert (F0 : fst total + c0 * fst p = 0) by exact (f_equal fst Sum).
      assert (S0 : vadd (snd total) (vscale c0 (snd p)) = vzero n) by exact (f_equal snd Sum).
      assert (Ec : - (fst total / fst p) = c0).
      { assert (Et : fst total = - (c0 * fst p)).
        { assert (E0 : fst total = (fst total + c0 * fst p) - c0 * fst p) by ring; rewrite E0, F0; ring. }
        rewrite Et; field; exact Np. }
      assert (Wz : forall c v, In (c, v) (w1 ++ w2) -> c = 0).
      { intros c1 v1 I1.
        apply (IH _ H (map (fun cv => (fst cv, reduced p (snd cv))) (w1 ++ w2))) with (v := reduced p v1).
        - rewrite map_map; simpl; rewrite <- E1, <- E2, <- map_app, map_map; reflexivity.
        - rewrite reduced_weighted_sum by exact Np; fold total; rewrite Ec; exact S0.
        - apply (in_map (fun cv => (fst cv, reduced p (snd cv))) _ _ I1). }
      apply in_app_or in I; destruct I as [I|[I|I]].
      * apply (Wz c v), in_or_app; left; exact I.
      * injection I as <- <-; pose proof (zero_weights Wz) as T0; fold total in T0; rewrite T0 in Ec; rewrite <- Ec.
        simpl; field; exact Np.
      * apply (Wz c v), in_or_app; right; exact I.
    + apply (IH _ H (map (fun cv => (fst cv, snd (snd cv))) ws)) with (v := snd v).
      * rewrite map_map; simpl; rewrite <- E, map_map; reflexivity.
      * rewrite tail_of_weighted_sum, Z; reflexivity.
      * apply (in_map (fun cv => (fst cv, snd (snd cv))) _ _ I).
Qed.

(** * Affine dimension *)

(** d + 1 affinely independent members, and n - d independent normals that are constant on the set. *)
Definition has_dimension {n} (P : polytope n) (d : nat) : Prop :=
  (exists p0 rest, length rest = d /\ contains P p0 /\ (forall p, In p rest -> contains P p)
     /\ independent (map (fun p => vadd p (vopp p0)) rest))
  /\ exists normals : list (point n * Qc), length normals = (n - d)%nat /\ independent (map fst normals)
     /\ forall g h, In (g, h) normals -> forall x, contains P x -> dot g x = h.

Fixpoint check_equalities {n} (P : polytope n) (normals : list (point n * Qc)) (upper lower : list (list Qc)) : bool :=
  match normals, upper, lower with
  | [], [], [] => true
  | (g, h) :: normals, lu :: upper, ll :: lower =>
      check_row P lu g h && check_row P ll (vopp g) (- h) && check_equalities P normals upper lower
  | _, _, _ => false
  end.

(** kernel: inclusion.check_dimension. *)
Definition check_dimension {n} (P : polytope n) (points : list (point n)) (normals : list (point n * Qc))
    (upper lower : list (list Qc)) : bool :=
  match points with
  | [] => false
  | p0 :: rest =>
      Nat.eqb (length rest + length normals) n && forallb (check_contains P) points
      && check_independent (map (fun p => vadd p (vopp p0)) rest)
      && check_independent (map fst normals) && check_equalities P normals upper lower
  end.

Lemma check_equalities_sound n (P : polytope n) normals : forall upper lower, check_equalities P normals upper lower = true ->
  forall g h, In (g, h) normals -> forall x, contains P x -> dot g x = h.
Proof.
  induction normals as [|[g h] normals IH]; intros [|lu upper] [|ll lower] H g' h' I x C; simpl in H; try discriminate; [destruct I|].
  rewrite !andb_true_iff in H; destruct H as [[Hu Hl] H]; destruct I as [I|I]; [|exact (IH _ _ H g' h' I x C)].
  injection I as <- <-; apply Qcle_antisym; [exact (check_row_sound Hu C)|].
  pose proof (check_row_sound Hl C) as B; unfold vopp in B; rewrite dot_scale_left in B.
  assert (E : - (1) * dot g x = - dot g x) by ring; rewrite E in B; set (a := dot g x) in *; qc_order.
Qed.

Theorem check_dimension_sound n (P : polytope n) points normals upper lower :
  check_dimension P points normals upper lower = true -> has_dimension P (length points - 1).
Proof.
  destruct points as [|p0 rest]; simpl; [discriminate|]; rewrite !andb_true_iff, Nat.eqb_eq.
  intros [[[[L [C0 C]] I1] I2] E]; rewrite Nat.sub_0_r; split.
  - exists p0, rest; split; [reflexivity|]; split; [apply check_contains_decides, C0|]; split.
    + rewrite forallb_forall in C; intros p J; apply check_contains_decides, C, J.
    + apply check_independent_sound, I1.
  - exists normals; split; [lia|]; split; [apply check_independent_sound, I2|].
    apply (check_equalities_sound E).
Qed.
