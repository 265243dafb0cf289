(* Reads certificate files of `aesop verify` and decides them again with the functions that are proved sound.

   Usage: checker FILE...   One line a file: the outcome, the kind, the path.
          checker --replay FILE   What the transition function of Machine.v yields, step by step (replay.ml).
   Exit code: 0 all proved; 1 something refuted or refused; 2 a file cannot be understood. 1 beats 2. Text and shapes are read in reading.ml. *)

open Core
open Json
open Reading

(* The kinds of certificate files. *)

let decide kind v : outcome =
  match kind with
  | "inclusion" ->
      let d = dimension (get "inner" v) and p = dimension (get "outer" v) in
      let inner = polytope d (get "inner" v) and outer = polytope p (get "outer" v) in
      let margin = numbers (get "margin" v) in
      if List.length margin <> List.length outer then bad "the margin has other entries than facets";
      let e = inclusion_evidence d ~outer:(List.length outer) ~inner:(List.length inner) v in
      inclusion_outcome d p inner outer (matrix_of p d (shaped p d (get "M" v))) (vector p (get "c" v)) margin e
  | "emptiness" ->
      let d = dimension (get "polytope" v) in
      let set = polytope d (get "polytope" v) in
      emptiness_outcome d set (inclusion_evidence d ~outer:1 ~inner:(List.length set) v)
  | "dimension" ->
      let d = dimension (get "polytope" v) in
      let set = polytope d (get "polytope" v) in
      let facets = List.length set and claimed = match as_integer (get "dimension" v) with -1 -> None | i -> Some i in
      dimension_outcome d set claimed
        (if has "multipliers" v then NoMember (shaped 1 facets (get "multipliers" v))
         else begin
           let count = columns (get "points" v) in
           if count < 1 || count > d + 1 then bad "found %d points in dimension %d" count d;
           let rows = shaped d count (get "points" v) and equalities = d + 1 - count in
           let points = List.init count (fun j -> vec_exact d (List.map (fun row -> List.nth row j) rows)) in
           let normals = List.map (vec_exact d) (shaped equalities d (get "normals" v)) and values = numbers (get "values" v) in
           if List.length values <> equalities then bad "found other values than normals";
           let multipliers key = shaped equalities facets (get key v) in
           Spanning (points, List.combine normals values, multipliers "upper", multipliers "lower")
         end)
  | "boundedness" ->
      let d = dimension (get "polytope" v) in
      let set = polytope d (get "polytope" v) in
      let facets = List.length set in
      boundedness_outcome d set
        (if has "emptiness" v then Empty (shaped 1 facets (get "emptiness" v))
         else if has "bounds" v then begin
           let bounds = numbers (get "bounds" v) in
           if List.length bounds <> 2 * d then bad "expected %d bounds" (2 * d);
           Box (bounds, shaped (2 * d) facets (get "multipliers" v))
         end
         else Ray (vector d (get "point" v), vector d (get "direction" v)))
  | "support" ->
      let d = dimension (get "polytope" v) in
      let set = polytope d (get "polytope" v) in
      support_outcome d set (vector d (get "direction" v)) (vector d (get "maximiser" v)) (shaped 1 (List.length set) (get "multipliers" v))
  | "recovery_set" ->
      let r = system (get "system" v) in
      let set = List.assoc (index r.names (as_text (get "name" v))) r.sys.recovery_sets in
      let facets = List.length set.region in
      let evidence label outer = inclusion_evidence r.n ~outer ~inner:facets (get label v) in
      recovery_set_outcome r.n r.m r.sys set (vector r.n (get "member" v)) (evidence "invariance" facets)
        (evidence "inside" (List.length r.sys.x)) (evidence "law" (List.length (input_set r.n r.m r.sys)))
  | "tightened_sets" ->
      let r = system (get "system" v) and which = as_text (get "which" v) in
      let sets = Lazy.force r.sets and points = get "points" v in
      let at d last = List.init (last + 1) (fun k -> vector d (get (string_of_int k) points)) in
      if which = "states" then members_outcome r.n sets.state_sets (at r.n r.sys.t)
      else if which = "inputs" then members_outcome r.m sets.input_sets (at r.m r.sys.t)
      else members_outcome r.n (List.assoc (index r.names which) sets.recovery_tubes) (at r.n (r.sys.t + 1))
  | "plan" ->
      let r = system (get "system" v) in
      plan_outcome r.n r.m r.sys (Lazy.force r.sets) (vector r.n (get "state" v)) (read_plan r (get "plan" v))
  | "plans_at_vertices" ->
      let r = system (get "system" v) in
      let lower = numbers (get "lower" v) and upper = numbers (get "upper" v) in
      if List.length lower <> r.n || List.length upper <> r.n then bad "expected %d bounds" r.n;
      if not (List.for_all2 not_above lower upper) then bad "expected lower <= upper";
      if List.length (List.filter (fun (a, b) -> not (qc_eq_dec a b)) (List.combine lower upper)) > 12 then bad "the box has more than 4096 vertices";
      let entry e = (vector r.n (get "state" e), read_plan r (get "plan" e)) in
      vertices_outcome r.n r.m r.sys (Lazy.force r.sets) (vec_exact r.n lower) (vec_exact r.n upper) (List.map entry (as_list (get "plans" v)))
  | "system" ->
      ignore (system (get "system" v));
      if as_text (get "hash" v) = system_hash (get "system" v) then Proved else Refused
  | "no_plan" ->
      let r = system (get "system" v) and options = get "options" v in
      no_plan_outcome r.n r.m r.sys (Lazy.force r.sets) (vector r.n (get "state" v)) (List.map (fun name -> any_matrix (get name options)) r.names)
  | other -> bad "the kind %s is unknown" other

let check path =
  try
    let v = parse (read path) in
    if as_integer (get "schema_version" v) <> 1 then bad "expected schema_version 1";
    let kind = as_text (get "kind" v) in
    ignore (as_text (get "statement" v));
    match decide kind v with
    | Proved -> (0, "proved", kind)
    | Refuted -> (1, "refuted", kind)
    | Refused -> (1, "refused", kind)
  with
  | Bad reason -> (2, "bad input", reason)
  | Stack_overflow -> (2, "bad input", "the file is too large")

let () =
  let files = List.tl (Array.to_list Sys.argv) in
  (match files with
   | [] -> prerr_endline "usage: checker FILE..., or checker --replay FILE"; exit 2
   | [ "--replay"; path ] -> (try Replay.run (parse (read path)); exit 0 with Bad reason -> prerr_endline reason; exit 2)
   | _ -> ());
  let worst a b = if a = 1 || b = 1 then 1 else if a = 2 || b = 2 then 2 else max a b in
  let code =
    List.fold_left
      (fun code path ->
        let c, outcome, detail = check path in
        Printf.printf "%s\t%s\t%s\n%!" outcome detail path;
        worst code c)
      0 files
  in
  exit code
