package presence_test

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

func TestSelf(t *testing.T) {
	t.Parallel()
	data := zonedata.Embedded()
	self := presence.Self("1.2.3", data, "generator", "invoker")
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Equal(t, presence.Process{
		Host: host, PID: os.Getpid(), Roles: []string{"generator", "invoker"}, Version: "1.2.3",
		Zones: data.Version(), ZonesDigest: data.Digest(),
	}, self)
	self.Host, self.PID = "h1", 7
	assert.Equal(t, "generator, invoker on h1 (process 7)", self.Title())
}

// TestAll asks while no process runs, then two, then one. Answers of others do no harm.
func TestAll(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	all := func(want int) []presence.Process {
		var found []presence.Process
		natstest.Eventually(t, natstest.Patience, "as many answer as there are", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			var err error
			found, err = presence.All(ctx, conn, names)
			require.NoError(t, err)
			return len(found) == want
		})
		return found
	}
	assert.NotNil(t, all(0))
	first := presence.Process{Host: "h1", PID: 1, Roles: []string{"generator"}, Zones: "2026f", ZonesDigest: "a"}
	second := presence.Process{Host: "h1", PID: 2, Roles: []string{"frontend"}, Zones: "2026g", ZonesFrom: "/z", ZonesDigest: "b",
		Index: &presence.Index{Read: 5, Total: 9}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		assert.NoError(t, presence.Announce(ctx, conn, names, func() presence.Process { return second }))
	})
	brief, end := context.WithCancel(t.Context())
	defer end()
	running.Go(func() {
		assert.NoError(t, presence.Announce(brief, conn, names, func() presence.Process { return first }))
	})
	garbage, err := conn.Subscribe(names.Processes(), func(m *nats.Msg) { _ = m.Respond([]byte("garbage")) })
	require.NoError(t, err)
	assert.Equal(t, []presence.Process{first, second}, all(2))
	end()
	assert.Equal(t, []presence.Process{second}, all(1))
	require.NoError(t, garbage.Unsubscribe())
	stored, err := json.Marshal(second)
	require.NoError(t, err)
	assert.JSONEq(t, `{"host":"h1","pid":2,"roles":["frontend"],"version":"","zones":"2026g","zonesFrom":"/z","zonesDigest":"b",
		"index":{"ready":false,"read":5,"total":9}}`,
		string(stored))
}

// TestPartsOfAProcess: each part of a process may answer for itself.
func TestPartsOfAProcess(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, part := range []presence.Process{
		{Host: "h1", PID: 1, Roles: []string{"replication"}},
		{Host: "h1", PID: 1, Roles: []string{"frontend", "generator"}, Index: &presence.Index{Read: 5}},
		{Host: "h1", PID: 2, Roles: []string{"replication"}},
	} {
		running.Go(func() {
			assert.NoError(t, presence.Announce(ctx, conn, names, func() presence.Process { return part }))
		})
	}
	want := []presence.Process{
		{Host: "h1", PID: 1, Roles: []string{"frontend", "generator", "replication"}, Index: &presence.Index{Read: 5}},
		{Host: "h1", PID: 2, Roles: []string{"replication"}},
	}
	natstest.Eventually(t, natstest.Patience, "all answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		found, err := presence.All(ctx, conn, names)
		return err == nil && assert.ObjectsAreEqual(want, found)
	})
}

// TestAnswersNobodyInTheInstallation: a process does not answer on a subject of the installation.
func TestAnswersNobodyInTheInstallation(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		assert.NoError(t, presence.Announce(ctx, conn, names, func() presence.Process { return presence.Process{Host: "h1", PID: 1, Roles: []string{"generator"}} }))
	})
	natstest.Eventually(t, natstest.Patience, "it answers", func() bool {
		_, err := conn.Request(names.Processes(), nil, 200*time.Millisecond)
		return err == nil
	})
	for _, own := range []string{names.FrontendBeat(), "$KV.x.y"} {
		heard, err := conn.SubscribeSync(own)
		require.NoError(t, err)
		require.NoError(t, conn.PublishRequest(names.Processes(), own, nil))
		_, err = conn.Request(names.Processes(), nil, natstest.Patience) // this request comes after the other one
		require.NoError(t, err)
		count, _, err := heard.Pending()
		require.NoError(t, err)
		assert.Zero(t, count, own)
	}
}
