--------------------------------- MODULE Traces ---------------------------------
(******************************************************************************)
(* Is a run of the simulator a behaviour of the model? The run is a sequence  *)
(* of events, observed where messages arrive and answers are heard            *)
(* (verification/simulation/watched.ts). Each event must be a step that the   *)
(* model allows:                                                              *)
(*                                                                            *)
(*   lease arrives      the newest counter counts                             *)
(*   leases served      the store answers with the model's table              *)
(*   leases heard       the collector decides which leases are live           *)
(*   horizon persisted  not above the bound of a lease that is live for a     *)
(*                      collector that looked                                 *)
(*   resolving          D: at or below a horizon that was persisted before a  *)
(*                      collector looked, and the bounds of all leases that   *)
(*                      were live for it; it looked a message lifetime ago    *)
(*   collecting         such a D: from now on versions below may be gone      *)
(*   read answered      if S is below such a D, the read was served before    *)
(*                      the collecting (P31)                                  *)
(*                                                                            *)
(* A run that the model does not allow ends in a deadlock at the forbidden    *)
(* event. Times are milliseconds; Ttl and Lifetime are shortened by the amount*)
(* by which a collector's clock may be fast.                                  *)
(******************************************************************************)
EXTENDS Leases, Sequences, TraceData

VARIABLES
  position,   \* The position of the next event.
  heardAt,    \* When each collector last heard of leases.
  servedAt,   \* The horizon when leases were last served to each collector.
  looks,      \* The limits that each read of the leases allows.
  fixed,      \* Deletion horizons.
  late        \* Reads that were served when versions in their snapshot may have been gone.

traceVars == <<vars, position, heardAt, servedAt, looks, fixed, late>>
unused == <<last, mail, process, slot>>

Event == Trace[position]
Is(kind) == position <= Len(Trace) /\ Event.kind = kind

TraceInit ==
  /\ Init
  /\ position = 1
  /\ heardAt = [c \in Collectors |-> 0]
  /\ servedAt = [c \in Collectors |-> 0]
  /\ looks = {}
  /\ fixed = {}
  /\ late = {}

TraceLeaseArrives ==
  /\ Is("lease arrives")
  /\ table' = TableAfter(Event)
  /\ UNCHANGED <<horizon, deletedTo, collector, heardAt, servedAt, looks, fixed, late>>

TraceLeaseErased ==
  /\ Is("lease erased")
  /\ table' = IF table[Event.process].counter <= Event.counter
              THEN [table EXCEPT ![Event.process] = NoLease] ELSE table
  /\ UNCHANGED <<horizon, deletedTo, collector, heardAt, servedAt, looks, fixed, late>>

\* An event lists the leases that exist, as a sequence.
LeaseIn(leases, p) ==
  IF \E i \in DOMAIN leases : leases[i].process = p
  THEN LET i == CHOOSE i \in DOMAIN leases : leases[i].process = p
       IN  [bound |-> leases[i].bound, counter |-> leases[i].counter]
  ELSE NoLease

TraceLeasesServed ==
  /\ Is("leases served")
  /\ \A p \in Processes : table[p] = LeaseIn(Event.leases, p)
  /\ servedAt' = [servedAt EXCEPT ![Event.collector] = horizon]
  /\ UNCHANGED <<table, horizon, deletedTo, collector, heardAt, looks, fixed, late>>

\* LeasesServed and LeasesHeard in one step, after all the time since the last answer.
TraceLeasesHeard ==
  LET c == Event.collector
      before == collector[c]
      older(p) == [before.sightings[p] EXCEPT !.age = Min({Ttl, @ + Event.at - heardAt[c]})]
      my == [before EXCEPT
               !.read = [p \in Processes |-> LeaseIn(Event.leases, p)],
               !.old = {p \in Processes : before.sightings[p] # NoSighting /\ older(p).age >= Ttl},
               !.sightings = [p \in Processes |->
                  IF @[p] = NoSighting THEN NoSighting ELSE older(p)]]
      limit == Min({LastTimestamp} \cup {my.read[p].bound : p \in Live(my)})
  IN  /\ Is("leases heard")
      /\ collector' = [collector EXCEPT ![c].sightings = [p \in Processes |-> Sighting(my, p)]]
      /\ heardAt' = [heardAt EXCEPT ![c] = Event.at]
      /\ looks' = looks \cup {[limit |-> limit, horizon |-> servedAt[c], at |-> Event.at]}
      /\ UNCHANGED <<table, horizon, deletedTo, servedAt, fixed, late>>

TracePersist ==
  /\ Is("horizon persisted")
  /\ Event.horizon >= horizon
  /\ Event.horizon > horizon => \E look \in looks : Event.horizon <= look.limit
  /\ horizon' = Event.horizon
  /\ UNCHANGED <<table, deletedTo, collector, heardAt, servedAt, looks, fixed, late>>

TraceResolve ==
  /\ Is("resolving")
  /\ \/ Event.deletionHorizon \in fixed
     \/ \E look \in looks :
          /\ Event.deletionHorizon <= look.limit
          /\ Event.deletionHorizon <= look.horizon
          /\ Event.at - look.at >= Lifetime
  /\ fixed' = fixed \cup {Event.deletionHorizon}
  /\ UNCHANGED <<table, horizon, deletedTo, collector, heardAt, servedAt, looks, late>>

TraceCollect ==
  /\ Is("collecting")
  /\ Event.deletionHorizon \in fixed
  /\ deletedTo' = Max(deletedTo, Event.deletionHorizon)
  /\ UNCHANGED <<table, horizon, collector, heardAt, servedAt, looks, fixed, late>>

Read == <<Event.process, Event.snapshot>>

TraceReadServed ==
  /\ Is("read served")
  /\ late' = IF deletedTo > Event.snapshot THEN late \cup {Read} ELSE late
  /\ UNCHANGED <<table, horizon, deletedTo, collector, heardAt, servedAt, looks, fixed>>

TraceReadAnswered ==
  /\ Is("read answered")
  /\ Read \notin late
  /\ UNCHANGED <<table, horizon, deletedTo, collector, heardAt, servedAt, looks, fixed, late>>

TraceNext ==
  \/ /\ \/ TraceLeaseArrives \/ TraceLeaseErased \/ TraceLeasesServed \/ TraceLeasesHeard
        \/ TracePersist \/ TraceResolve \/ TraceCollect \/ TraceReadServed \/ TraceReadAnswered
     /\ position' = position + 1
     /\ UNCHANGED unused
  \/ position > Len(Trace) /\ UNCHANGED traceVars

TraceSpec == TraceInit /\ [][TraceNext]_traceVars
===============================================================================
