(* Exact numbers, shapes, systems and plans out of JSON: all that is read, and nothing that is decided. *)

open Big_int_Z
open Core
open Json

let get key = function
  | Object fields -> (match List.assoc_opt key fields with Some v -> v | None -> bad "%s is missing" key)
  | _ -> bad "expected an object with the field %s" key

let has key = function Object fields -> List.mem_assoc key fields | _ -> false
let as_list = function List l -> l | _ -> bad "expected a list"
let as_text = function Text s -> s | _ -> bad "expected a text"
let as_integer = function Integer i -> i | _ -> bad "expected an integer"
let as_natural v = let i = as_integer v in if i < 0 || i > 1_000_000 then bad "expected a small number, not negative" else i

(* Exact numbers and shapes. *)

(* As kernel/rational.exact reads a text: "-2", "0.1", "1e-3" or "2/7". *)
let number v : qc =
  let s = as_text v in
  let n = String.length s and at = ref 0 in
  let wrong () = bad "%s is no number" (if n > 40 then String.sub s 0 40 else s) in
  let next c = !at < n && s.[!at] = c in
  let sign () = if next '-' then (incr at; true) else (if next '+' then incr at; false) in
  let digits () =
    let start = !at in
    while !at < n && is_digit s.[!at] do incr at done;
    if !at = start then wrong () else String.sub s start (!at - start)
  in
  let finished z q = if !at < n || sign_big_int q <= 0 || n > 20_000 then wrong () else q2Qc { qnum = z; qden = q } in
  let negative = sign () in
  let signed z = if negative then minus_big_int z else z in
  let whole = digits () in
  if next '/' then begin
    incr at;
    let q = big_int_of_string (digits ()) in
    finished (signed (big_int_of_string whole)) q
  end
  else begin
    let decimals = if next '.' then (incr at; digits ()) else "" in
    let exponent =
      if next 'e' || next 'E' then begin
        incr at;
        let down = sign () in
        let e = digits () in
        if String.length e > 4 then wrong () else if down then - (int_of_string e) else int_of_string e
      end
      else 0 in
    let z = signed (big_int_of_string (whole ^ decimals)) and power = exponent - String.length decimals in
    if power >= 0 then finished (mult_big_int z (power_int_positive_int 10 power)) unit_big_int else finished z (power_int_positive_int 10 (-power))
  end

let number_text (q : qc) = 
  if eq_big_int q.qden unit_big_int then string_of_big_int q.qnum else string_of_big_int q.qnum ^ "/" ^ string_of_big_int q.qden

let vec_exact d l = match vec_of_list d l with Some v -> v | None -> bad "found %d entries, expected %d" (List.length l) d
let numbers v = List.map number (as_list v)
let vector d v = vec_exact d (numbers v)
let rows_of v = List.map numbers (as_list v)

(* {"shape": [p, n], "rows": [...]} as rows. *)
let shaped p n v =
  (match get "shape" v with List [ Integer a; Integer b ] when a = p && b = n -> () | _ -> bad "a matrix has another shape than %d x %d" p n);
  let rows = rows_of (get "rows" v) in
  if List.length rows <> p || List.exists (fun r -> List.length r <> n) rows then bad "a matrix has other rows than its shape says";
  rows

(* The same, of whatever shape it says. *)
let any_matrix v =
  match get "shape" v with
  | List [ Integer p; Integer n ] -> shaped p n v
  | _ -> bad "a matrix without its shape"

let columns v = match get "shape" v with List [ Integer _; Integer b ] -> b | _ -> bad "a matrix without its shape"
let matrix_of p n rows = vec_exact p (List.map (vec_exact n) rows)
let plain_matrix p n v = matrix_of p n (rows_of v)
let column p v = vec_exact p (List.map (function [ x ] -> x | _ -> bad "expected one column") (rows_of v))

let polytope d v =
  if as_natural (get "n" v) <> d then bad "a set has another dimension than %d" d;
  let normals = List.map (vec_exact d) (rows_of (get "G" v)) and sides = numbers (get "h" v) in
  if List.length normals <> List.length sides then bad "a set has other right-hand sides than rows";
  List.combine normals sides

let dimension v = as_natural (get "n" v)

let inclusion_evidence d ~outer ~inner v =
  if has "multipliers" v then Rows (shaped outer inner (get "multipliers" v)) else Witness (vector d (get "point" v))

(* Systems, each distinct one computed once. *)

type ready = { n : int; m : int; sys : int exactSystem; names : string list; sets : sets Lazy.t }

let index names name =
  let rec go i = function [] -> bad "no recovery set is named %s" name | x :: _ when x = name -> i | _ :: l -> go (i + 1) l in
  go 0 names

let read_system v : ready =
  let b_rows = rows_of (get "B" v) in
  let n = List.length b_rows in
  let m = match b_rows with [] -> bad "the state has dimension 0" | r :: _ -> List.length r in
  let summand s =
    ignore (as_text (get "name" s));
    let lower = List.length (as_list (get "lower" s)) in
    { parameters = lower; image = plain_matrix n lower (get "map" s); lower = column lower (get "lower" s); upper = column lower (get "upper" s) }
  in
  let sets = as_list (get "recovery_sets" v) in
  let names = List.map (fun r -> as_text (get "name" r)) sets in
  let recovery r = { region = polytope n (get "polytope" r); law_gain = plain_matrix m n (get "gain" r); law_offset = column m (get "offset" r) } in
  let order = List.map as_text (as_list (get "fallback_order" v)) in
  if names = [] || List.sort compare order <> List.sort compare names then bad "the fallback order is not the recovery sets' names";
  let sys =
    { a = plain_matrix n n (get "A" v); b = matrix_of n m b_rows; b0 = column n (get "b" v);
      x = polytope n (get "X" v); u = polytope m (get "U" v); f = plain_matrix m n (get "gain" v);
      declared = List.map summand (as_list (get "disturbance" v));
      estimate_error = List.map summand (as_list (get "estimate_error" v));
      recovery_sets = List.mapi (fun i r -> (i, recovery r)) sets;
      t = as_natural (get "horizon" v); k = as_natural (get "consensus_horizon" v);
      quantum = number (get "quantum" v); order = List.map (index names) order }
  in
  if List.length (List.sort_uniq compare names) <> List.length names then bad "two recovery sets have one name";
  if not (system_accepted n m sys) then bad "the system breaks a rule of the specification";
  { n; m; sys; names; sets = lazy (all_sets n m sys) }

(* The hash of a system that [read_system] accepted: of its numbers in lowest terms. kernel: System.canonical, System.hash. *)
let system_hash v =
  let reduced x = Text (number_text (number x)) in
  let row r = List (List.map reduced (as_list r)) in
  let rows m = List (List.map row (as_list m)) in
  let fields v = List.map (fun (key, convert) -> (key, convert (get key v))) in
  let same x = x in
  let objects keys l = List (List.map (fun v -> Object (fields v keys)) (as_list l)) in
  let set p = Object (fields p [ ("G", rows); ("h", row); ("n", same) ]) in
  let sum = objects [ ("name", same); ("map", rows); ("lower", rows); ("upper", rows) ] in
  let recovery = objects [ ("name", same); ("polytope", set); ("gain", rows); ("offset", rows) ] in
  Sha256.to_hex (Sha256.string (encoded (Object (fields v
    [ ("A", rows); ("B", rows); ("b", rows); ("X", set); ("U", set); ("disturbance", sum); ("estimate_error", sum); ("gain", rows);
      ("recovery_sets", recovery); ("horizon", same); ("consensus_horizon", same); ("quantum", reduced); ("fallback_order", same) ]))))

let systems : (json, ready) Hashtbl.t = Hashtbl.create 8

let system v =
  match Hashtbl.find_opt systems v with
  | Some r -> r
  | None -> let r = read_system v in Hashtbl.replace systems v r; r

let read_plan r v : (qc vec, int) plan =
  let horizon = as_natural (get "horizon" v) and consensus = as_natural (get "consensus" v) in
  let options = List.map (fun o -> index r.names (as_text o)) (as_list (get "options" v)) in
  if options = [] || List.length (List.sort_uniq compare options) <> List.length options then bad "the options are not distinct, or there are none";
  if consensus > horizon then bad "the consensus is longer than the horizon";
  if horizon > r.sys.t then bad "the plan is longer than the system's horizon";
  let inputs u =
    let rows = shaped r.m (horizon + 1) u in
    List.init (horizon + 1) (fun k -> vec_exact r.m (List.map (fun row -> List.nth row k) rows))
  in
  let recovery = as_list (get "recovery" v) in
  if List.length recovery <> List.length options then bad "the plan has other branches than options";
  { nominal = inputs (get "nominal" v); branches = List.combine options (List.map inputs recovery); consensus; horizon }

let read path =
  try
    let channel = open_in_bin path in
    Fun.protect ~finally:(fun () -> close_in channel) (fun () -> really_input_string channel (in_channel_length channel))
  with Sys_error reason -> bad "%s" reason
