package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Kind is a kind of fault.
type Kind string

// The kinds of fault. A killed process gets SIGKILL and is started again at the end of the fault. A suspended process gets
// SIGSTOP and continues at its end.
const (
	KillRole    Kind = "kill_role"
	KillRoles   Kind = "kill_all_roles"
	SuspendRole Kind = "suspend_role"
	KillNode    Kind = "kill_node"
	KillNodes   Kind = "kill_all_nodes"
	SuspendNode Kind = "suspend_node"
	// CutNode cuts a NATS node off from the two others, CutLink two nodes from each other. Clients still reach all of them.
	CutNode Kind = "cut_node"
	CutLink Kind = "cut_link"
	// FillQuota leaves a NATS node no storage: it refuses what it would have to store as the leader of a stream.
	FillQuota Kind = "fill_quota"
	// FillDisk fills the disk of a NATS node and makes room again: NATS switches JetStream off there, and has to be restarted.
	FillDisk Kind = "fill_disk"
)

// ofNATS reports whether a fault hits the NATS cluster rather than the roles.
func (k Kind) ofNATS() bool {
	return slices.Contains([]Kind{KillNode, KillNodes, SuspendNode, CutNode, CutLink, FillQuota, FillDisk}, k)
}

// The size of the installation.
const (
	nodeCount       = 3
	processesOfRole = 2
)

// roles are the roles that run as processes of their own.
var roles = slices.Concat([]string{frontendRole, gatewayRole}, subjects.Pools(), []string{matchingRole, workerRole, workflowsRole})

const (
	frontendRole = "frontend"
	gatewayRole  = "gateway"
	matchingRole = "matching"
	workerRole   = "worker"
	// workflowsRole is a worker on Temporal's SDK.
	workflowsRole = "workflows"
)

// fault is one fault. Begin and End count from the beginning of the run.
type fault struct {
	Kind       Kind
	Begin, End time.Duration
	// Victims are names of processes: one or more that are killed or suspended, or the node or the two nodes that are cut off.
	Victims []string
}

func (f *fault) String() string {
	return fmt.Sprintf("%s %v for %s", f.Kind, f.Victims, (f.End - f.Begin).Round(time.Millisecond))
}

// nodeNames and roleNames are the names of the processes.
func nodeNames() []string { return numbered("nats", nodeCount) }

func roleNames() []string {
	var names []string
	for _, role := range roles {
		names = append(names, numbered(role, processesOfRole)...)
	}
	return names
}

func numbered(word string, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", word, i)
	}
	return names
}

// span is a range to choose a duration from.
type span struct{ from, to time.Duration }

func (s span) choose(random *rand.Rand) time.Duration {
	return s.from + time.Duration(random.Int64N(int64(s.to-s.from))).Round(time.Millisecond)
}

// card is a kind of fault with its length and its victims.
type card struct {
	kind    Kind
	length  span
	victims func(*rand.Rand) []string
}

// track is a series of faults one after the other, drawn like cards: each card of the deck is played once before any is played
// again. So a short run sees many kinds too.
type track struct {
	deck []card
	// gap is the time between two faults.
	gap span
}

// firstFault is when the first fault begins at the earliest.
const firstFault = 2 * time.Second

// newPlan works out all faults of a run, in the order in which they begin. Faults of NATS never overlap: the cluster keeps a
// majority, unless a fault hits all nodes. The roles have two series, one for the first process of each and one for the second,
// so that at times both are away. Disks are filled only if asked for. The same arguments always give the same plan.
func newPlan(seed uint64, duration time.Duration, fillDisks bool) []fault {
	nodes := nodeTrack()
	if fillDisks {
		disk := card{FillDisk, span{3 * time.Second, 14 * time.Second}, oneNode}
		nodes.deck = append(nodes.deck, disk, disk)
	}
	var plan []fault
	for i, t := range []track{nodes, roleTrack(0), roleTrack(1)} {
		plan = append(plan, t.play(rand.New(rand.NewPCG(seed, uint64(i+1))), duration)...)
	}
	slices.SortStableFunc(plan, func(a, b fault) int { return cmp.Compare(a.Begin, b.Begin) })
	return plan
}

func (t *track) play(random *rand.Rand, duration time.Duration) []fault {
	var faults []fault
	at := firstFault + t.gap.choose(random)/2
	for {
		for _, i := range random.Perm(len(t.deck)) {
			c := t.deck[i]
			f := fault{Kind: c.kind, Begin: at, End: at + c.length.choose(random), Victims: c.victims(random)}
			at = f.End + t.gap.choose(random)
			if f.Begin >= duration {
				return faults
			}
			f.End = min(f.End, duration)
			faults = append(faults, f)
		}
	}
}

// nodeTrack leaves a node that was away some time to catch up before the next one goes. The suspensions and cuts are long
// enough for elections, which take up to nine seconds, and for the acknowledgement waits to pass.
func nodeTrack() track {
	short, long := span{500 * time.Millisecond, 4 * time.Second}, span{3 * time.Second, 14 * time.Second}
	all := func(*rand.Rand) []string { return nodeNames() }
	pair := func(random *rand.Rand) []string {
		alone := random.IntN(nodeCount)
		return slices.Delete(nodeNames(), alone, alone+1)
	}
	return track{
		deck: []card{
			{KillNode, short, oneNode}, {KillNode, short, oneNode}, {KillNodes, short, all},
			{SuspendNode, long, oneNode}, {CutNode, long, oneNode}, {CutLink, long, pair}, {FillQuota, long, oneNode},
		},
		gap: span{3 * time.Second, 8 * time.Second},
	}
}

func oneNode(random *rand.Rand) []string { return []string{pick(random, nodeNames())} }

// roleTrack hits the processes with one index. Every suspension outlasts the acknowledgement wait of a task, 5 s, and most
// outlast that of an action, 10 s: other processes take over work that the suspended one still believes to have when it wakes
// up.
func roleTrack(index int) track {
	one := func(random *rand.Rand) []string {
		return []string{fmt.Sprintf("%s-%d", pick(random, roles), index)}
	}
	t := track{
		deck: []card{
			{KillRole, span{100 * time.Millisecond, 2 * time.Second}, one}, {SuspendRole, span{6 * time.Second, 14 * time.Second}, one},
			{KillRole, span{100 * time.Millisecond, 2 * time.Second}, one}, {KillRole, span{3 * time.Second, 9 * time.Second}, one},
		},
		gap: span{500 * time.Millisecond, 3 * time.Second},
	}
	if index == 0 {
		all := func(*rand.Rand) []string { return roleNames() }
		t.deck = append(t.deck, card{KillRoles, span{100 * time.Millisecond, 3 * time.Second}, all})
	}
	return t
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// step is the beginning or the end of a fault.
type step struct {
	at    time.Duration
	fault *fault
	begin bool
}

// steps are the beginnings and ends of all faults in order. At the same time, ends come first.
func steps(plan []fault) []step {
	var all []step
	for i := range plan {
		f := &plan[i]
		all = append(all, step{f.Begin, f, true}, step{f.End, f, false})
	}
	slices.SortStableFunc(all, func(a, b step) int {
		if order := cmp.Compare(a.at, b.at); order != 0 {
			return order
		}
		return boolOrder(a.begin) - boolOrder(b.begin)
	})
	return all
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}
