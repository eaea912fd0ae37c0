package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
)

// clusterShown is how many rows the tables of the page have: an installation of 256 shards has some hundred streams.
const clusterShown = 100

// clusterView is what an installation consists of, and how all of it is.
type clusterView struct {
	Health *healthView
	// Facts are name and value of what there is one of.
	Facts     []fact
	Streams   []streamRow
	Consumers []consumerRow
	Processes []processRow
	Queues    []backlogRow
	// More counts what the tables leave out, in their order.
	MoreStreams, MoreConsumers, MoreProcesses, MoreQueues int
	// Problems say what could not be found out.
	Problems []string
}

// streamRow is a stream or a bucket.
type streamRow struct {
	Name, Size, Limit, Keeps, Leader string
	IsBucket                         bool
	State                            state
	Messages                         uint64
	Replicas                         int
	Oldest                           moment
	// Peers say of each further replica how far it is.
	Peers []string
}

// consumerRow is a consumer by which a pool takes its tasks.
type consumerRow struct {
	Name, Stream, Oldest string
	Pending              uint64
	Held, Asking         int
	State                state
}

// processRow is a process that answers.
type processRow struct {
	Title, Roles, Version, Zones, Index string
}

func (p *Pages) addCluster() { p.page("GET "+Base+"{namespace}/cluster", p.cluster) }

// cluster shows what "carillon cluster info" and "carillon cluster health" show.
func (p *Pages) cluster(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	facts, err := p.health(r.Context(), asks)
	if err != nil {
		return nil, err
	}
	return &answer{view: "cluster", title: "Cluster", data: clusterOf(facts, p.config.Now())}, nil
}

func clusterOf(f *diagnosis.Facts, now time.Time) *clusterView {
	view := &clusterView{Health: healthOf(f), Facts: installationFacts(f, now), Processes: processesOf(f), Problems: f.Problems}
	for i := range f.Streams {
		view.Streams = append(view.Streams, streamOf(&f.Streams[i], now))
		for j := range f.Streams[i].Consumers {
			view.Consumers = append(view.Consumers, consumerOf(&f.Streams[i], j, now))
		}
	}
	for i := range f.Queues {
		q := &f.Queues[i]
		view.Queues = append(view.Queues, backlogRow{q.Namespace + "/" + q.Name, q.Worker, q.Waiting, q.Held, waitText(q.Oldest, now)})
	}
	slices.SortStableFunc(view.Streams, func(a, b streamRow) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	slices.SortStableFunc(view.Consumers, func(a, b consumerRow) int { return cmp.Compare(rank(a.State), rank(b.State)) })
	view.Streams, view.MoreStreams = firstOf(view.Streams)
	view.Consumers, view.MoreConsumers = firstOf(view.Consumers)
	view.Processes, view.MoreProcesses = firstOf(view.Processes)
	view.Queues, view.MoreQueues = firstOf(view.Queues)
	return view
}

// processesOf returns the processes that answer. Those of an older release do not say what they are, but their frontends answer by themselves.
func processesOf(f *diagnosis.Facts) (rows []processRow) {
	frontends := 0
	for i := range f.Processes {
		q := &f.Processes[i]
		row := processRow{Title: fmt.Sprintf("%s, process %d", q.Host, q.PID), Roles: strings.Join(q.Roles, ", "), Version: q.Version, Zones: q.Zones}
		if q.Index != nil {
			row.Index = indexText(q.Index.Ready, q.Index.Read, q.Index.Total)
		}
		if slices.Contains(q.Roles, "frontend") {
			frontends++
		}
		rows = append(rows, row)
	}
	if frontends < len(f.Frontends) {
		for _, frontend := range f.Frontends {
			rows = append(rows, processRow{Title: frontend.ID, Roles: "frontend", Version: frontend.Version})
		}
	}
	return rows
}

// firstOf returns the rows that a table shows, and how many it leaves out.
func firstOf[T any](rows []T) (first []T, more int) {
	first = rows[:min(len(rows), clusterShown)]
	return first, len(rows) - len(first)
}

// rank orders what is not well before what is.
func rank(s state) int { return slices.Index([]string{"bad", "warn", "good"}, s.Kind) }

func waitText(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return rounded(max(now.Sub(since), 0))
}

func indexText(ready bool, read, total uint64) string {
	switch {
	case ready:
		return "ready"
	case total == 0:
		return "being built"
	}
	return fmt.Sprintf("being built: %d of %d", read, total)
}

// installationFacts returns what there is one of.
func installationFacts(f *diagnosis.Facts, now time.Time) (facts []fact) {
	n := &f.NATS
	stored := diagnosis.SizeText(n.Stored)
	if n.StoreLimit > 0 {
		stored += " of " + diagnosis.SizeText(n.StoreLimit)
	}
	facts = []fact{{"NATS", n.URL}, {"Server", n.Server + ", version " + n.Version}, {"Cluster of NATS", n.Cluster}, {"Servers", strings.Join(n.Servers, ", ")}}
	for _, other := range n.Others {
		facts = append(facts, fact{"Another server", other.URL + ", version " + other.Version})
	}
	facts = append(facts, fact{"Stored", stored}, fact{"Answers in", shortly(n.RoundTrip)}, fact{"Prefix", f.Prefix})
	if f.Cluster != nil {
		created := momentOf(f.Cluster.Created, now, time.UTC)
		facts = append(facts,
			fact{"Created", created.Text + " UTC, " + created.Relative}, fact{"Format", fmt.Sprintf("version %d", f.Cluster.FormatVersion)},
			fact{"Shards", fmt.Sprint(f.Cluster.Shards)}, fact{"Replicas", fmt.Sprint(f.Cluster.Replicas)}, fact{"Namespaces", fmt.Sprint(f.Namespaces)},
		)
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Text == "" })
}

func streamOf(s *diagnosis.Stream, now time.Time) streamRow {
	row := streamRow{
		Name: cmp.Or(s.Bucket, s.Name), IsBucket: s.Bucket != "", Messages: s.Messages, Size: diagnosis.SizeText(int64(s.Bytes)), Replicas: s.Replicas,
		Leader: s.Leader, State: state{"well", "good"}, Oldest: momentOf(s.First, now, time.UTC),
	}
	if s.MaxBytes > 0 {
		row.Limit = diagnosis.SizeText(s.MaxBytes)
	}
	if s.MaxAge > 0 {
		row.Keeps = rounded(s.MaxAge)
	}
	for _, peer := range s.Peers {
		row.Peers = append(row.Peers, peerText(&peer))
		if peer.Offline || !peer.Current {
			row.State = state{"replica behind", "warn"}
		}
	}
	switch {
	case s.Missing:
		row.State = state{"missing", "bad"}
	case s.Refused != "":
		row.State = state{"refuses writes", "bad"}
	case s.Leader == "":
		row.State = state{"no leader", "bad"}
	case s.Unfit:
		row.State = state{"wrong settings", "warn"}
	}
	return row
}

func peerText(p *diagnosis.Peer) string {
	switch {
	case p.Offline:
		return p.Name + " is offline"
	case !p.Current:
		return fmt.Sprintf("%s is %d behind", p.Name, p.Lag)
	}
	return p.Name
}

func consumerOf(s *diagnosis.Stream, i int, now time.Time) consumerRow {
	c := &s.Consumers[i]
	row := consumerRow{
		Name: c.Name, Stream: s.Name, Pending: c.Pending, Held: c.Held, Asking: c.Waiting, Oldest: waitText(c.Oldest, now), State: state{"well", "good"},
	}
	switch {
	case c.Missing:
		row.State = state{"missing", "bad"}
	case c.Unasked:
		row.State = state{"nobody asks", "bad"}
	case c.Unfit:
		row.State = state{"wrong settings", "warn"}
	}
	return row
}
