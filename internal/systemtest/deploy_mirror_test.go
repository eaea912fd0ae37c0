package systemtest

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// mirrorSite is a place that may be lost: a NATS server in a JetStream domain of its own.
type mirrorSite struct {
	t      *testing.T
	server *server.Server
	names  subjects.Names
	js     jetstream.JetStream
	*system
}

// newMirrorSite starts the server of a site. If it is given the port of another site's leaf nodes it connects to it, and lets none of
// Carillon's own messages through.
func newMirrorSite(t *testing.T, names subjects.Names, domain string, change func(*server.Options)) *mirrorSite {
	t.Helper()
	o := &server.Options{
		ServerName: domain, Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: t.TempDir(), JetStreamDomain: domain,
	}
	change(o)
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(patience))
	conn, js := natstest.Connect(t, s.ClientURL())
	in := &mirrorSite{t: t, server: s, names: names, js: js, system: &system{t: t, names: names, conn: conn, js: js}}
	in.client, err = client.New(conn, client.Config{Prefix: names.Prefix(), Timeout: 30 * time.Second})
	require.NoError(t, err)
	return in
}

// run starts all roles except the worker in a process, and waits until it answers.
func (in *mirrorSite) run() *process {
	in.t.Helper()
	p := newProcess(in.t, "server", "--nats", in.server.ClientURL(), "--prefix", in.names.Prefix(), "--shards", "2", "--no-worker")
	p.start()
	natstest.Eventually(in.t, patience, "the frontend answers", func() bool {
		_, err := in.client.List(in.t.Context(), schedule.ListRequest{})
		return err == nil
	})
	return p
}

// mirrored are the streams to mirror: the records, and the history. Everything else is derived from them.
func mirrored(names subjects.Names, shards int) []string {
	all := []string{"KV_" + names.ClusterBucket(), names.EventStream(), names.DeadLetterStream(), names.WorkerDeadLetterStream()}
	for shard := range shards {
		all = append(all, "KV_"+names.StateBucket(shard))
	}
	return all
}

// mirror makes mirrors of the streams of another site.
func (in *mirrorSite) mirror(of *mirrorSite) {
	in.t.Helper()
	for _, name := range mirrored(in.names, 2) {
		stream, err := of.js.Stream(in.t.Context(), name)
		require.NoError(in.t, err)
		config := stream.CachedInfo().Config
		config.Subjects, config.SubjectDeleteMarkerTTL = nil, 0 // mirrors may not have these; a process that starts sets the latter
		config.Mirror = &jetstream.StreamSource{Name: name, External: &jetstream.ExternalStream{APIPrefix: "$JS.primary.API"}}
		natstest.Eventually(in.t, patience, "the mirror of "+name+" is made", func() bool {
			_, err := in.js.CreateStream(in.t.Context(), config)
			return err == nil
		})
	}
}

// awaitMirror waits until a mirror has everything that existed when it was called.
func (in *mirrorSite) awaitMirror(of *mirrorSite) {
	in.t.Helper()
	for _, name := range mirrored(in.names, 2) {
		stream, err := of.js.Stream(in.t.Context(), name)
		require.NoError(in.t, err)
		natstest.Eventually(in.t, patience, name+" is mirrored", func() bool {
			mirror, err := in.js.Stream(in.t.Context(), name)
			return err == nil && mirror.CachedInfo().State.LastSeq >= stream.CachedInfo().State.LastSeq
		})
	}
}

// promote turns the mirrors into streams of their own.
func (in *mirrorSite) promote(of map[string][]string) {
	in.t.Helper()
	for name, subjects := range of {
		stream, err := in.js.Stream(in.t.Context(), name)
		require.NoError(in.t, err)
		config := stream.CachedInfo().Config
		config.Mirror, config.Subjects = nil, subjects
		_, err = in.js.UpdateStream(in.t.Context(), config)
		require.NoError(in.t, err, name)
	}
}

// siteLoad is what goes on while a site is lost: schedules of every second, one that is not due for long, and a run in
// progress.
type siteLoad struct {
	created [4]time.Time
	ran     *ledger
}

func (in *mirrorSite) load() *siteLoad {
	in.t.Helper()
	l := &siteLoad{ran: in.work(in.conn, "q", nil)}
	held := newGate(in.t)
	in.work(in.conn, "held", held.handle)
	for i := range l.created {
		sched := every(time.Second)
		sched.Policies.Overlap = schedule.OverlapBufferAll
		l.created[i] = in.create(id(i), sched).Info.CreateTime
	}
	in.create("dormant", every(100*24*time.Hour))
	interrupted := triggered(schedule.OverlapSkip)
	interrupted.Action.TaskQueue = "held"
	in.create("interrupted", interrupted)
	in.trigger("interrupted")
	held.await("interrupted", 1)
	awaitRuns(in.t, l.ran, len(l.created), 3)
	natstest.Eventually(in.t, patience, "the run to be recorded", func() bool {
		return len(in.describe("interrupted").Info.RunningWorkflows) == 1
	})
	return l
}

// subjectsOf are the subjects of the mirrored streams.
func (in *mirrorSite) subjectsOf() map[string][]string {
	in.t.Helper()
	all := map[string][]string{}
	for _, name := range mirrored(in.names, 2) {
		stream, err := in.js.Stream(in.t.Context(), name)
		require.NoError(in.t, err)
		all[name] = stream.CachedInfo().Config.Subjects
	}
	return all
}

// repair runs the command that finds and repairs what was on its way when the site was lost, until nothing is left to repair.
func (in *mirrorSite) repair() {
	in.t.Helper()
	natstest.Eventually(in.t, patience, "nothing is left to repair", func() bool {
		check := newProcess(in.t, "cluster", "check", "--repair", "--confirm-after", "2s",
			"--nats", in.server.ClientURL(), "--prefix", in.names.Prefix())
		check.start()
		err := check.cmd.Wait()
		check.cmd = nil
		in.t.Log(check.log.tail(4000))
		return err == nil
	})
}

// TestMirroredSite loses a site, and continues at another one that has mirrors of the records and of the history. It tests the
// promises of docs/operations.md.
func TestMirroredSite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	names := natstest.Names(t)
	port := quietPort(t)
	primary := newMirrorSite(t, names, "primary", func(o *server.Options) {
		o.LeafNode.Host, o.LeafNode.Port = "127.0.0.1", port
	})
	standby := newMirrorSite(t, names, "standby", func(o *server.Options) {
		remote := &url.URL{Scheme: "nats-leaf", Host: "127.0.0.1:" + strconv.Itoa(port)}
		own := []string{names.Prefix() + ".>", "$KV.>"}
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{remote}, DenyImports: own, DenyExports: own}}
	})
	roles := primary.run()
	standby.mirror(primary)
	there := primary.load()
	standby.awaitMirror(primary)
	streams := primary.subjectsOf()
	roles.kill()
	primary.server.Shutdown()

	standby.promote(streams)
	standby.run()
	ran := standby.work(standby.conn, "q", nil)
	standby.repair()
	awaitRuns(t, ran, len(there.created), 3)
	end := time.Now()
	awaitUntil(t, ran, len(there.created), end)
	standby.account(there, ran, end)
	natstest.Eventually(t, patience, "the run that was interrupted to count as failed", func() bool {
		info := standby.describe("interrupted").Info
		return len(info.RunningWorkflows) == 0 && len(info.RecentActions) == 1 &&
			info.RecentActions[0].Status == schedule.StatusFailed
	})
	assert.NotEmpty(t, standby.describe("dormant").Info.FutureActionTimes)
}

// account requires each action to have run at one site or the other, or to be known as failed because its site was lost. An
// action that ran at both must have one request ID.
func (in *mirrorSite) account(there *siteLoad, here *ledger, end time.Time) {
	in.t.Helper()
	twice, lost := 0, 0
	for i, from := range there.created {
		byID := map[string]ran{}
		for _, r := range append(there.ran.of(id(i)), upTo(here.of(id(i)), end)...) {
			if _, again := byID[r.RequestID]; again {
				twice++
			}
			byID[r.RequestID] = r
		}
		for _, event := range in.eventsOf(id(i)) {
			if _, known := byID[event.RequestID]; event.Kind == schedule.EventCompleted && !known && !event.Nominal.After(end) {
				assert.Equal(in.t, schedule.StatusFailed, event.Status)
				byID[event.RequestID] = ran{RequestID: event.RequestID, Nominal: event.Nominal}
				lost++
			}
		}
		assert.NoError(in.t, exactlyOnce(slices.Collect(maps.Values(byID)), time.Second, from, end), id(i))
	}
	in.t.Logf("ran again: %d; known as lost without having run: %d", twice, lost)
}
