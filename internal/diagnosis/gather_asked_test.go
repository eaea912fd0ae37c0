package diagnosis

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// askedSetup makes an installation of one shard with some tasks for the invoker.
func askedSetup(t *testing.T, tasks int) (*nats.Conn, jetstream.JetStream, subjects.Names) {
	t.Helper()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	for i := range tasks {
		_, err := js.Publish(t.Context(), names.InvokeWake(0, schedule.Key{Namespace: "default", ID: fmt.Sprint("s", i)}), nil)
		require.NoError(t, err)
	}
	return conn, js, names
}

func checkOf(t *testing.T, f *Facts, name string) Check {
	t.Helper()
	for _, c := range Checks(f) {
		if c.Name == name {
			return c
		}
	}
	require.Fail(t, "no check "+name)
	return Check{}
}

// TestAPoolThatDiesWithTasksInHand: the tasks still count as in hand. The check reports at once that nobody asks for more.
func TestAPoolThatDiesWithTasksInHand(t *testing.T) {
	t.Parallel()
	conn, js, names := askedSetup(t, 3)
	own, ownJS := natstest.Connect(t, natstest.Shared(t))
	messages, err := natstest.Bus(t, ownJS).Pull(t.Context(), names.TaskStream(0), names.PoolConsumers(0)[1].Config)
	require.NoError(t, err)
	completions, err := natstest.Bus(t, ownJS).Pull(t.Context(), names.CallbackStream(0), names.ConsumersOfPool(0, subjects.PoolInvoker)[1].Config)
	require.NoError(t, err)
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = completions.Next(t.Context()) })
	defer asking.Wait()
	for range 3 {
		_, err := messages.Next(t.Context())
		require.NoError(t, err)
	}
	natstest.Eventually(t, natstest.Patience, "it asks for more, with three in hand", func() bool {
		c := checkOf(t, gather(t, conn, js, names), subjects.PoolInvoker)
		return c.Status == OK && c.Detail == "1 shard served; 0 tasks waiting, 3 in hand"
	})
	own.Close() // as if the process died
	messages.Stop()
	completions.Stop()
	c := checkOf(t, gather(t, conn, js, names), subjects.PoolInvoker)
	assert.Equal(t, Failed, c.Status)
	assert.Equal(t, "nobody asks for the tasks of the pool; 0 tasks waiting, 3 in hand of processes that are gone, or hang", c.Detail)
}

// TestAPoolThatAsksNowAndThen: there is always a moment in which nobody asks, which is no reason for an alarm.
func TestAPoolThatAsksNowAndThen(t *testing.T) {
	t.Parallel()
	conn, js, names := askedSetup(t, 0)
	g := gatherer{Config: Config{Conn: conn, JS: js, Names: names, Now: time.Now}, facts: &Facts{Streams: []Stream{{
		Name: names.TaskStream(0), Consumers: []Consumer{{Name: subjects.PoolInvoker}, {Name: subjects.PoolGenerator}},
	}}}}
	messages, err := natstest.Bus(t, js).Pull(t.Context(), names.TaskStream(0), names.PoolConsumers(0)[1].Config)
	require.NoError(t, err)
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = messages.Next(t.Context()) })
	defer asking.Wait()
	defer messages.Stop()
	natstest.Eventually(t, natstest.Patience, "it asks", func() bool {
		consumer, err := js.Consumer(t.Context(), names.TaskStream(0), subjects.PoolInvoker)
		return err == nil && consumer.CachedInfo().NumWaiting > 0
	})
	g.awaitAsked(t.Context()) // nobody asked at the first look, as the facts say
	assert.False(t, g.facts.Streams[0].Consumers[0].Unasked)
	assert.True(t, g.facts.Streams[0].Consumers[1].Unasked)
}

// TestAPoolThatGetsOn: the pool may have all it can hold, and ask for no more.
func TestAPoolThatGetsOn(t *testing.T) {
	t.Parallel()
	conn, js, names := askedSetup(t, 2)
	consumer, err := js.Consumer(t.Context(), names.TaskStream(0), subjects.PoolInvoker)
	require.NoError(t, err)
	_, err = consumer.Next()
	require.NoError(t, err)
	before, err := consumer.Info(t.Context())
	require.NoError(t, err)
	_, err = consumer.Next()
	require.NoError(t, err)
	g := gatherer{Config: Config{Conn: conn, JS: js, Names: names, Now: time.Now}, facts: &Facts{Streams: []Stream{{
		Name: names.TaskStream(0), Consumers: []Consumer{{Name: subjects.PoolInvoker, movement: movementOf(before)}},
	}}}}
	g.awaitAsked(t.Context())
	assert.False(t, g.facts.Streams[0].Consumers[0].Unasked)
}

// TestPulseOfATaskStream: the pulse is among the facts once it has come.
func TestPulseOfATaskStream(t *testing.T) {
	t.Parallel()
	conn, js, names := askedSetup(t, 0)
	_, err := js.Publish(t.Context(), names.Pulse(0), nil) // as NATS does after ten seconds
	require.NoError(t, err)
	facts := gather(t, conn, js, names)
	assert.Equal(t, OK, checkOf(t, facts, "timers").Status)
	i := slices.IndexFunc(facts.Streams, func(s Stream) bool { return s.Name == names.TaskStream(0) })
	require.GreaterOrEqual(t, i, 0)
	last := facts.Streams[i]
	assert.WithinDuration(t, time.Now(), last.Pulse, time.Minute)
}

func TestIsOlder(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.14.0": false, "2.15.2": false, "3.0.0": false, "2.14.0-RC.1": false, "2.14": false,
		"2.13.9": true, "2.9.25": true, "2.12.0-beta": true, "1.99.0": true,
		"": false, "nightly": false,
	} {
		assert.Equal(t, want, isOlder(version, "2.14"), version)
	}
}

// TestAServerThatIsTooOld connects through a proxy that changes how the server introduces itself.
func TestAServerThatIsTooOld(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	conn, js := natstest.Connect(t, introducedAs(t, natstest.Shared(t).ClientURL(), "2.12.4"))
	facts := gather(t, conn, js, names)
	assert.Equal(t, map[string]Status{"nats": Failed}, statuses(facts))
	assert.Contains(t, checkOf(t, facts, "nats").Detail, "has version 2.12.4: version 2.14 or later is needed")
}

// TestAnotherServerThatIsTooOld: each of several servers is checked, not only the one that answers.
func TestAnotherServerThatIsTooOld(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	newer, gone := natstest.Shared(t).ClientURL(), "nats://127.0.0.1:1"
	older := introducedAs(t, newer, "2.12.4")
	conn, err := nats.Connect(strings.Join([]string{newer, older, gone}, ","), nats.DontRandomize())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	facts := gather(t, conn, js, names)
	assert.Equal(t, []Server{{URL: older, Version: "2.12.4"}}, facts.NATS.Others)
	assert.Equal(t, Failed, checkOf(t, facts, "nats").Status)
	assert.Contains(t, checkOf(t, facts, "nats").Detail, older+" has version 2.12.4: version 2.14 or later is needed")
}

// introducedAs runs a proxy to a NATS server that announces another version, and returns its URL.
func introducedAs(t *testing.T, url, version string) string {
	t.Helper()
	address := regexp.MustCompile(`^nats://`).ReplaceAllString(url, "")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	accepted := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-accepted })
	go func() {
		defer close(accepted)
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			relay(client, address, version)
		}
	}()
	return "nats://" + listener.Addr().String()
}

// relay serves one connection until either side ends it.
func relay(client net.Conn, address, version string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	from := bufio.NewReader(server)
	line, err := from.ReadString('\n')
	if err != nil {
		return
	}
	changed := regexp.MustCompile(`"version":"[^"]*"`).ReplaceAllString(line, `"version":"`+version+`"`)
	if _, err := client.Write([]byte(changed)); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = bufio.NewReader(client).WriteTo(server)
		_ = server.Close()
	}()
	_, _ = from.WriteTo(client)
	_ = client.Close()
	<-done
}

// TestWithoutAQuorum stops two of three servers. What is unknown is not reported as missing.
func TestWithoutAQuorum(t *testing.T) {
	t.Parallel()
	cluster := natstest.Cluster(t, 3)
	conn, js := natstest.Connect(t, cluster.Node(0).URL())
	names := natstest.Names(t)
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1, Replicas: 3})
	require.NoError(t, err)
	for i := range 2 {
		cluster.Node(1 + i).Suspend()
		defer cluster.Node(1 + i).Resume()
	}
	natstest.Eventually(t, natstest.Patience, "JetStream of the server that is left knows that it is alone", func() bool {
		facts := gather(t, conn, js, names)
		worst := Checks(facts)[len(Checks(facts))-1]
		for _, c := range Checks(facts) {
			require.NotContains(t, c.Detail, "there is none with the prefix")
		}
		return facts.Cluster == nil && worst.Status == Failed && worst.Next == quorum
	})
}
