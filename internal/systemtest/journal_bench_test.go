package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
)

// entryBytes is the size of an entry of a journal.
const entryBytes = 600

// BenchmarkJournal measures what NATS gives to a journal for each workflow ID: a subject of a stream, whose entries are published with the
// expected last sequence of the subject. NATS has processes of its own; the publishers share this one.
//
//	go test ./internal/systemtest -run '^$' -bench Journal -benchtime 500x
func BenchmarkJournal(b *testing.B) {
	for _, nodes := range []int{1, 3} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			cluster := natstest.Cluster(b, nodes)
			b.Run("append", func(b *testing.B) { benchmarkAppend(b, cluster, nodes, 1) })
			b.Run("append-by-256", func(b *testing.B) { benchmarkAppend(b, cluster, nodes, 256) })
			b.Run("follow", func(b *testing.B) { benchmarkFollow(b, cluster, nodes) })
			b.Run("offer", func(b *testing.B) { benchmarkOffer(b, cluster, nodes) })
			b.Run("nobody-there", func(b *testing.B) { benchmarkNobodyThere(b, cluster, nodes) })
			for _, entries := range []int{8, 1000} {
				for _, cold := range []bool{false, true} {
					b.Run(fmt.Sprintf("read-%d/cold=%t", entries, cold), func(b *testing.B) {
						benchmarkReadJournal(b, cluster, nodes, entries, cold)
					})
				}
			}
			b.Run("purge/together", func(b *testing.B) { benchmarkPurge(b, cluster, nodes, false) })
			b.Run("purge/spread", func(b *testing.B) { benchmarkPurge(b, cluster, nodes, true) })
			for _, clients := range []int{1, 16, 256} {
				b.Run(fmt.Sprintf("workflow/clients=%d", clients), func(b *testing.B) { benchmarkWorkflow(b, cluster, nodes, clients) })
			}
		})
	}
}

// journals are the journals of one benchmark, on a connection of their own.
type journals struct {
	*testing.B
	js        jetstream.JetStream
	publisher *bus.Publisher
	// stream has the journals. Each benchmark has streams of its own, which are gone when it ends.
	stream string
}

// journalStreams counts the benchmarks, for the names of their streams.
var journalStreams atomic.Int64

// newJournals makes a stream for journals and one for timers.
func newJournals(b *testing.B, cluster *natstest.ClusterT, replicas int) *journals {
	b.Helper()
	j := &journals{B: b, stream: fmt.Sprintf("JOURNAL_%d", journalStreams.Add(1))}
	_, j.js = natstest.Connect(b, cluster.URLs())
	for _, config := range []jetstream.StreamConfig{
		{Name: j.stream, Subjects: []string{"journal.>"}, AllowDirect: true},
		{Name: j.stream + "_TIMERS", Subjects: []string{"timer.>", "fired.>"}, AllowMsgSchedules: true, AllowMsgTTL: true},
	} {
		config.Replicas = replicas
		_, err := j.js.CreateStream(b.Context(), config)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, j.js.DeleteStream(context.WithoutCancel(b.Context()), config.Name)) })
	}
	j.publisher = bus.NewPublisher(j.js)
	b.Cleanup(j.publisher.Close)
	return j
}

func journalOf(workflow int) string { return fmt.Sprintf("journal.default.w%d", workflow) }

// append appends an entry to a journal whose last entry has a sequence, and returns the sequence of the new one. A stream with several
// replicas may refuse an entry without naming a sequence right after it has acknowledged the one before. Such an entry is sent again.
func (j *journals) append(ctx context.Context, subject string, last uint64, entry []byte) (sequence uint64, err error) {
	const tries = 10
	for range tries {
		sequence, err = j.publisher.Publish(ctx, &nats.Msg{
			Subject: subject, Header: nats.Header{nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(last, 10)}}, Data: entry,
		})
		if bus.CodeOf(err) != jetstream.JSErrCodeStreamWrongLastSequenceConstant {
			break
		}
	}
	return sequence, err
}

// fill gives each of a number of journals as many entries. The entries of a journal lie together or are spread over the stream.
func (j *journals) fill(workflows, entries int, spread bool) {
	j.Helper()
	rounds, each := 1, entries
	if spread {
		rounds, each = entries, 1
	}
	for range rounds {
		group, ctx := errgroup.WithContext(j.Context())
		group.SetLimit(256)
		for w := range workflows {
			group.Go(func() (err error) {
				for range each {
					_, err = j.publisher.Publish(ctx, &nats.Msg{Subject: journalOf(w), Data: make([]byte, entryBytes)})
					if err != nil {
						break
					}
				}
				return err
			})
		}
		require.NoError(j, group.Wait())
	}
}

// times collects durations. It is safe for concurrent use.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

func (t *times) report(b *testing.B) {
	b.Helper()
	slices.Sort(t.all)
	for _, q := range []struct {
		name    string
		percent int
	}{{"p50-ms", 50}, {"p99-ms", 99}} {
		b.ReportMetric(ms(t.all[(len(t.all)-1)*q.percent/100]), q.name)
	}
	b.ReportMetric(float64(len(t.all))/b.Elapsed().Seconds(), "ops/s")
}

// sideBySide does something n times, by several clients at once, and reports how long it takes.
func sideBySide(b *testing.B, clients, n int, do func(ctx context.Context, client, i int) error) {
	b.Helper()
	var took times
	var next atomic.Int64
	group, ctx := errgroup.WithContext(b.Context())
	b.ResetTimer()
	for client := range clients {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				from := time.Now()
				if err := do(ctx, client, i); err != nil {
					return err
				}
				took.add(time.Since(from))
			}
			return nil
		})
	}
	require.NoError(b, group.Wait())
	b.StopTimer()
	took.report(b)
}

func benchmarkAppend(b *testing.B, cluster *natstest.ClusterT, nodes, clients int) {
	j := newJournals(b, cluster, nodes)
	last, entry := make([]uint64, clients), make([]byte, entryBytes)
	sideBySide(b, clients, b.N, func(ctx context.Context, client, _ int) (err error) {
		last[client], err = j.append(ctx, journalOf(client), last[client], entry)
		return err
	})
}

// benchmarkFollow measures from the begin of an append until a durable consumer has the entry.
func benchmarkFollow(b *testing.B, cluster *natstest.ClusterT, nodes int) {
	j := newJournals(b, cluster, nodes)
	arrived := make(chan struct{})
	j.follow("transfer", func(jetstream.Msg) { arrived <- struct{}{} })
	last := uint64(0)
	sideBySide(b, 1, b.N, func(ctx context.Context, _, _ int) error {
		var group errgroup.Group
		group.Go(func() (err error) {
			last, err = j.append(ctx, journalOf(0), last, make([]byte, entryBytes))
			return err
		})
		<-arrived
		return group.Wait()
	})
}

// follow handles the entries of all journals in their order, and acknowledges each. It ends with the benchmark.
func (j *journals) follow(durable string, handle func(jetstream.Msg)) {
	j.Helper()
	consumer, err := j.js.CreateConsumer(j.Context(), j.stream, jetstream.ConsumerConfig{
		Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 10_000,
	})
	require.NoError(j, err)
	messages, err := consumer.Messages(jetstream.PullMaxMessages(256))
	require.NoError(j, err)
	var following sync.WaitGroup
	following.Go(func() {
		for msg, err := messages.Next(); err == nil; msg, err = messages.Next() {
			handle(msg)
			_ = msg.Ack()
		}
	})
	j.Cleanup(func() {
		messages.Stop()
		following.Wait()
	})
}

// benchmarkOffer measures a request to somebody who waits in a queue group, on another connection.
func benchmarkOffer(b *testing.B, cluster *natstest.ClusterT, nodes int) {
	j := newJournals(b, cluster, nodes)
	poller, _ := natstest.Connect(b, cluster.URLs())
	_, err := poller.QueueSubscribe("poll.q", "pollers", func(offer *nats.Msg) { _ = offer.Respond(nil) })
	require.NoError(b, err)
	require.NoError(b, poller.Flush())
	sideBySide(b, 1, b.N, func(ctx context.Context, _, _ int) error {
		_, err := j.js.Conn().RequestWithContext(ctx, "poll.q", make([]byte, entryBytes))
		return err
	})
}

// benchmarkNobodyThere measures an offer that nobody waits for.
func benchmarkNobodyThere(b *testing.B, cluster *natstest.ClusterT, nodes int) {
	j := newJournals(b, cluster, nodes)
	sideBySide(b, 1, b.N, func(ctx context.Context, _, _ int) error {
		_, err := j.js.Conn().RequestWithContext(ctx, "poll.q", make([]byte, entryBytes))
		if !errors.Is(err, nats.ErrNoResponders) {
			return fmt.Errorf("offer to nobody: %w", err)
		}
		return nil
	})
}

// benchmarkReadJournal reads whole journals, each once at most, whose entries are spread over a stream of 200,000. Cold means that the nodes
// have just been started, so the figure contains the reading of blocks from the files, which the system has in memory.
func benchmarkReadJournal(b *testing.B, cluster *natstest.ClusterT, nodes, entries int, cold bool) {
	j := newJournals(b, cluster, nodes)
	workflows := 200_000 / entries
	j.fill(workflows, entries, true)
	if cold {
		for node := range nodes {
			cluster.Kill(node)
			cluster.Restart(node)
		}
		natstest.Eventually(b, natstest.Patience, "the stream has a leader again", func() bool {
			stream, err := j.js.Stream(b.Context(), j.stream)
			return err == nil && stream.CachedInfo().State.Msgs == uint64(workflows*entries)
		})
	}
	r := j.newReader()
	sideBySide(b, 1, min(b.N, workflows), func(ctx context.Context, _, i int) error {
		got, err := r.read(ctx, journalOf(i*7919%workflows), entries)
		if err == nil && got != entries {
			return fmt.Errorf("%d entries read, of %d", got, entries)
		}
		return err
	})
}

// journalReader reads whole journals by direct gets in batches.
type journalReader struct {
	conn    *nats.Conn
	stream  string
	inbox   string
	answers *nats.Subscription
}

func (j *journals) newReader() *journalReader {
	j.Helper()
	r := &journalReader{conn: j.js.Conn(), stream: j.stream, inbox: nats.NewInbox()}
	var err error
	r.answers, err = r.conn.SubscribeSync(r.inbox)
	require.NoError(j, err)
	return r
}

// read reads at most a number of entries of a journal, and returns how many there are.
func (r *journalReader) read(ctx context.Context, subject string, most int) (entries int, err error) {
	get, err := json.Marshal(map[string]any{"seq": 1, "next_by_subj": subject, "batch": most, "max_bytes": 8 << 20})
	if err != nil {
		return 0, err
	}
	if err := r.conn.PublishRequest("$JS.API.DIRECT.GET."+r.stream, r.inbox, get); err != nil {
		return 0, err
	}
	for {
		msg, err := r.answers.NextMsgWithContext(ctx)
		switch {
		case err != nil:
			return 0, err
		case msg.Header.Get("Status") == "204":
			return entries, nil
		case msg.Header.Get("Status") != "":
			return 0, errors.New(msg.Header.Get("Description"))
		}
		entries++
	}
}

// benchmarkPurge removes journals of eight entries, which lie together or are spread over the stream.
func benchmarkPurge(b *testing.B, cluster *natstest.ClusterT, nodes int, spread bool) {
	j := newJournals(b, cluster, nodes)
	const others = 20_000
	j.fill(max(others, b.N), 8, spread)
	stream, err := j.js.Stream(b.Context(), j.stream)
	require.NoError(b, err)
	sideBySide(b, 1, b.N, func(ctx context.Context, _, i int) error {
		return stream.Purge(ctx, jetstream.WithPurgeSubject(journalOf(i)))
	})
}

// benchmarkWorkflow carries out the messages of a workflow with one activity, without any logic: seven entries, three offers to a worker
// that waits, three answers, and one timer. The history follows the journals, as it would after a crash, and does nothing ahead of that.
func benchmarkWorkflow(b *testing.B, cluster *natstest.ClusterT, nodes, clients int) {
	j := newJournals(b, cluster, nodes)
	p := &pipeline{journals: j, failed: make(chan error, 1)}
	p.serve(cluster)
	j.follow("transfer", p.transfer)
	sideBySide(b, clients, b.N, func(ctx context.Context, _, i int) error {
		ended := make(chan struct{})
		p.waiting.Store(i, ended)
		if err := p.start(ctx, i); err != nil {
			return err
		}
		select {
		case <-ended:
			return nil
		case err := <-p.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// pipeline is a history without logic: the number of an entry says what comes next.
type pipeline struct {
	*journals
	waiting sync.Map // by workflow: a channel that is closed at its end
	failed  chan error
	working sync.WaitGroup
}

const lastEntry = 7

// step is where a workflow is: the number of an entry of its journal, and the sequence of that entry.
type step struct {
	workflow, number int
	sequence         uint64
}

// encode returns a body of the size of an entry.
func (s step) encode() []byte {
	text := fmt.Sprintf("%d %d %d ", s.workflow, s.number, s.sequence)
	return append([]byte(text), make([]byte, entryBytes-len(text))...)
}

func decodeStep(body []byte) (s step, err error) {
	_, err = fmt.Sscan(string(body), &s.workflow, &s.number, &s.sequence)
	return s, err
}

func (p *pipeline) fail(err error) {
	if err != nil {
		select {
		case p.failed <- err:
		default:
		}
	}
}

// start appends the first entry. It arms the timer of the workflow beside it.
func (p *pipeline) start(ctx context.Context, workflow int) error {
	var group errgroup.Group
	group.Go(func() error {
		name := strconv.Itoa(workflow)
		_, err := p.publisher.Publish(ctx, task.Delayed("timer."+name, "fired."+name, time.Now().Add(time.Hour), nil, nil))
		return err
	})
	group.Go(func() error {
		_, err := p.add(ctx, step{workflow: workflow})
		return err
	})
	return group.Wait()
}

// add appends the entry after a step, and returns the next step.
func (p *pipeline) add(ctx context.Context, at step) (next step, err error) {
	next = step{workflow: at.workflow, number: at.number + 1}
	next.sequence, err = p.append(ctx, journalOf(at.workflow), at.sequence, next.encode())
	if err != nil {
		err = fmt.Errorf("after entry %d of workflow %d, with sequence %d: %w", at.number, at.workflow, at.sequence, err)
	}
	return next, err
}

// transfer does what an entry makes due: the first, third and fifth schedule a task, which is offered to a worker. The last entry ends the
// workflow.
func (p *pipeline) transfer(msg jetstream.Msg) {
	at, err := decodeStep(msg.Data())
	meta, err2 := msg.Metadata()
	if err := errors.Join(err, err2); err != nil {
		p.fail(err)
		return
	}
	at.sequence = meta.Sequence.Stream
	switch {
	case at.number == lastEntry:
		if ended, ok := p.waiting.LoadAndDelete(at.workflow); ok {
			close(ended.(chan struct{}))
		}
	case at.number%2 == 1:
		p.working.Go(func() { p.fail(p.offer(at)) })
	}
}

// offer offers a task. When a worker takes it, offer appends that it has started, and only then hands it over.
func (p *pipeline) offer(at step) error {
	taken, err := p.js.Conn().RequestWithContext(p.Context(), "poll.q", nil)
	if err != nil {
		return err
	}
	started, err := p.add(p.Context(), at)
	if err != nil {
		return err
	}
	return p.js.Conn().Publish(string(taken.Data), started.encode())
}

// serve runs a worker on a connection of its own, and appends what it answers.
func (p *pipeline) serve(cluster *natstest.ClusterT) {
	p.Helper()
	worker, _ := natstest.Connect(p, cluster.URLs())
	tasks := nats.NewInbox()
	_, err := worker.QueueSubscribe("poll.q", "pollers", func(offer *nats.Msg) { _ = offer.Respond([]byte(tasks)) })
	require.NoError(p, err)
	_, err = worker.Subscribe(tasks, func(task *nats.Msg) { _ = worker.Publish("done", task.Data) })
	require.NoError(p, err)
	require.NoError(p, worker.Flush())
	_, err = p.js.Conn().Subscribe("done", func(done *nats.Msg) {
		started, err := decodeStep(done.Data)
		p.fail(err)
		p.working.Go(func() {
			_, err := p.add(p.Context(), started)
			p.fail(err)
		})
	})
	require.NoError(p, err)
	require.NoError(p, p.js.Conn().Flush())
	p.Cleanup(p.working.Wait)
}
