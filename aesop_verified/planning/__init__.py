"""Planning: Eq. (3) stated once, solved fast as quadratic programs and slowly as a Pyomo model; all of it only proposes."""
