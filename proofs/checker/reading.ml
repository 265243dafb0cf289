(* JSON text, exact numbers, shapes, systems and plans: all that is read, and nothing that is decided. *)

open Core

exception Bad of string

let bad fmt = Printf.ksprintf (fun s -> raise (Bad s)) fmt

(* JSON: objects, lists, text, integers, true, false and null; no number with a fraction or an exponent. *)

type json = Object of (string * json) list | List of json list | Text of string | Integer of int | Word of string

let parse (s : string) : json =
  let n = String.length s and at = ref 0 in
  let peek () = if !at < n then s.[!at] else bad "the text ends too early" in
  let rec space () = if !at < n && (match s.[!at] with ' ' | '\n' | '\r' | '\t' -> true | _ -> false) then (incr at; space ()) in
  let expect c = if peek () <> c then bad "expected %c at byte %d" c !at; incr at in
  let text () =
    expect '"';
    let out = Buffer.create 16 in
    let rec go () =
      match peek () with
      | '"' -> incr at
      | '\\' ->
          incr at;
          (match peek () with
           | ('"' | '\\' | '/') as c -> Buffer.add_char out c; incr at
           | 'n' -> Buffer.add_char out '\n'; incr at
           | 't' -> Buffer.add_char out '\t'; incr at
           | 'r' -> Buffer.add_char out '\r'; incr at
           | 'b' -> Buffer.add_char out '\b'; incr at
           | 'f' -> Buffer.add_char out '\012'; incr at
           | 'u' ->
               if !at + 5 > n then bad "the text ends too early";
               Buffer.add_string out ("\\u" ^ String.sub s (!at + 1) 4); at := !at + 5
           | c -> bad "unknown escape \\%c" c);
          go ()
      | c -> Buffer.add_char out c; incr at; go ()
    in
    go (); Buffer.contents out
  in
  let rec value depth =
    if depth > 100 then bad "nested too deeply";
    space ();
    match peek () with
    | '{' -> incr at; space (); if peek () = '}' then (incr at; Object []) else fields depth []
    | '[' -> incr at; space (); if peek () = ']' then (incr at; List []) else items depth []
    | '"' -> Text (text ())
    | _ ->
        let start = !at in
        let rec go () = if !at < n && (match s.[!at] with 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '-' | '+' | '.' -> true | _ -> false) then (incr at; go ()) in
        go ();
        let word = String.sub s start (!at - start) in
        if List.mem word [ "true"; "false"; "null" ] then Word word
        else if word <> "" && String.for_all (function '0' .. '9' | '-' -> true | _ -> false) word then
          match int_of_string_opt word with Some i -> Integer i | None -> bad "the integer %s is too long" word
        else bad "unexpected text at byte %d" start
  and fields depth found =
    space ();
    let key = text () in
    if List.mem_assoc key found then bad "the key %s occurs twice" key;
    space (); expect ':';
    let v = value (depth + 1) in
    space ();
    match peek () with
    | ',' -> incr at; fields depth ((key, v) :: found)
    | '}' -> incr at; Object (List.rev ((key, v) :: found))
    | _ -> bad "expected , or } at byte %d" !at
  and items depth found =
    let v = value (depth + 1) in
    space ();
    match peek () with
    | ',' -> incr at; items depth (v :: found)
    | ']' -> incr at; List (List.rev (v :: found))
    | _ -> bad "expected , or ] at byte %d" !at
  in
  let v = value 0 in
  space ();
  if !at <> n then bad "text follows the value";
  v

let get key = function
  | Object fields -> (match List.assoc_opt key fields with Some v -> v | None -> bad "%s is missing" key)
  | _ -> bad "expected an object with the field %s" key

let has key = function Object fields -> List.mem_assoc key fields | _ -> false
let as_list = function List l -> l | _ -> bad "expected a list"
let as_text = function Text s -> s | _ -> bad "expected a text"
let as_integer = function Integer i -> i | _ -> bad "expected an integer"
let as_natural v = let i = as_integer v in if i < 0 || i > 1_000_000 then bad "expected a small number, not negative" else i

(* Exact numbers and shapes. *)

let number v : qc =
  let integer s =
    let digits = if s <> "" && s.[0] = '-' then String.sub s 1 (String.length s - 1) else s in
    if digits = "" || not (String.for_all (function '0' .. '9' -> true | _ -> false) digits) then bad "%s is no number" s;
    Big_int_Z.big_int_of_string s
  in
  let of_parts p q = if Big_int_Z.sign_big_int q <= 0 then bad "a denominator is not positive" else q2Qc { qnum = p; qden = q } in
  match String.split_on_char '/' (as_text v) with
  | [ p ] -> of_parts (integer p) Big_int_Z.unit_big_int
  | [ p; q ] -> of_parts (integer p) (integer q)
  | _ -> bad "%s is no number" (as_text v)

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
