package owners_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// pool are processes that answer requests about executions with their names.
type pool struct {
	testing.TB
	names subjects.Names
}

// process runs a process. Closing its connection is its death.
func (p *pool) process(name string) *nats.Conn {
	p.Helper()
	conn, _ := natstest.Connect(p, natstest.Shared(p))
	tell := func(request *nats.Msg) { _ = request.Respond([]byte(name)) }
	for _, subject := range []string{p.names.Executions(), p.names.ExecutionsAt(name)} {
		_, err := conn.QueueSubscribe(subject, "pool", tell)
		require.NoError(p, err)
	}
	_, err := owners.Announce(bus.Plain{Conn: conn}, p.names, name)
	require.NoError(p, err)
	require.NoError(p, conn.Flush())
	return conn
}

// clock is a clock that a test turns on.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()) }
func (c *clock) turn(d time.Duration) { c.at.Add(int64(d)) }
func execution(i int) schedule.Key    { return schedule.Key{Namespace: "n", ID: fmt.Sprint("w", i)} }
func (p *pool) subject(of schedule.Key) string {
	return p.names.Execution(subjects.ShardOf(of, 4), of.Namespace, "describe")
}

// asker returns owners, and their clock.
func (p *pool) asker() (*owners.Owners, *clock) {
	p.Helper()
	c := &clock{}
	c.turn(time.Hour)
	conn, _ := natstest.Connect(p, natstest.Shared(p))
	o, err := owners.New(bus.Plain{Conn: conn}, p.names, c.now)
	require.NoError(p, err)
	return o, c
}

// answers returns which process answers about an execution.
func (p *pool) answers(o *owners.Owners, of schedule.Key) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), natstest.Patience)
	defer cancel()
	answer, err := o.For(of).RequestMsgWithContext(ctx, &nats.Msg{Subject: p.subject(of)})
	require.NoError(p, err)
	return string(answer.Data)
}

// owned counts the executions of each process.
func (p *pool) owned(o *owners.Owners, executions int) map[string]int {
	p.Helper()
	counts := map[string]int{}
	for i := range executions {
		counts[p.answers(o, execution(i))]++
	}
	return counts
}

// settled waits until both have the same owner for each of some executions, and as many owners as there are processes.
func (p *pool) settled(a, b *owners.Owners, turn func(time.Duration), processes int) {
	p.Helper()
	natstest.Eventually(p, natstest.Patience, "all choose the same owners", func() bool {
		turn(time.Second)
		seen := map[string]bool{}
		for i := range 40 {
			first, second := p.answers(a, execution(i)), p.answers(b, execution(i))
			if seen[first] = true; first != second {
				return false
			}
		}
		return len(seen) == processes
	})
}

// TestAllChooseTheSameOwner: each execution has one owner, whoever asks, and each process gets its share.
func TestAllChooseTheSameOwner(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	p.process("one")
	p.process("two")
	p.process("three")
	a, clockA := p.asker()
	b, clockB := p.asker()
	turn := func(d time.Duration) { clockA.turn(d); clockB.turn(d) }
	p.settled(a, b, turn, 3)
	counts := p.owned(a, 600)
	for _, process := range []string{"one", "two", "three"} {
		assert.InDelta(t, 200, counts[process], 60, "%v", counts)
	}
	before := map[int]string{}
	for i := range 100 {
		before[i] = p.answers(a, execution(i))
	}
	p.process("four")
	p.settled(a, b, turn, 4)
	for i, owner := range before {
		if now := p.answers(a, execution(i)); now != owner {
			assert.Equal(t, "four", now, "only what the new process gets has another owner")
		}
	}
}

// TestAnOwnerThatIsGoneHoldsUpNothing: when a process dies, the next request about each of its executions is answered by another one, although
// whoever asks has not noticed yet.
func TestAnOwnerThatIsGoneHoldsUpNothing(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	dying := p.process("one")
	p.process("two")
	a, clockA := p.asker()
	b, clockB := p.asker()
	p.settled(a, b, func(d time.Duration) { clockA.turn(d); clockB.turn(d) }, 2)
	dying.Close()
	watching, _ := natstest.Connect(t, natstest.Shared(t))
	natstest.Eventually(t, natstest.Patience, "NATS knows of the death", func() bool {
		at := p.names.ExecutionAt("one", p.subject(execution(1)))
		_, err := watching.Request(at, nil, time.Second)
		return errors.Is(err, nats.ErrNoResponders)
	})
	assert.Equal(t, map[string]int{"two": 50}, p.owned(a, 50))
}

// TestAnOwnerThatIsSilentIsLeft: requests go elsewhere when a process has not answered three questions. It is asked again when it answers.
func TestAnOwnerThatIsSilentIsLeft(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	silent, err := conn.Subscribe(p.names.ExecutionsAt("silent"), func(request *nats.Msg) { _ = request.Respond([]byte("silent")) })
	require.NoError(t, err)
	defer func() { _ = silent.Unsubscribe() }()
	end, err := owners.Announce(bus.Plain{Conn: conn}, p.names, "silent")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	p.process("other")
	a, clockA := p.asker()
	b, clockB := p.asker()
	turn := func(d time.Duration) { clockA.turn(d); clockB.turn(d) }
	p.settled(a, b, turn, 2)
	end()
	require.NoError(t, conn.Flush())
	natstest.Eventually(t, natstest.Patience, "the silent process is left", func() bool {
		turn(time.Second)
		return p.owned(a, 40)["silent"] == 0
	})
	_, err = owners.Announce(bus.Plain{Conn: conn}, p.names, "silent")
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	p.settled(a, b, turn, 2)
}

// TestTheOwnerIsHere: requests for a process that is this one do not reach NATS, those of other processes do. When it is about to end, they go to
// any process, although it still answers who asks for the processes.
func TestTheOwnerIsHere(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	p.process("one")
	p.process("two")
	a, clockA := p.asker()
	b, clockB := p.asker()
	var asked []string
	leave := a.Stay("one", func(_ context.Context, request *nats.Msg) (*nats.Msg, error) {
		asked = append(asked, request.Subject)
		return &nats.Msg{Data: []byte("here")}, nil
	})
	natstest.Eventually(t, natstest.Patience, "both processes are known", func() bool {
		clockA.turn(time.Second)
		clockB.turn(time.Second)
		return len(p.owned(a, 40)) == 2 && len(p.owned(b, 40)) == 2
	})
	asked = nil
	for i := range 40 {
		owner, answer := p.answers(b, execution(i)), p.answers(a, execution(i))
		if owner == "one" {
			require.Equal(t, "here", answer)
			require.Equal(t, p.names.ExecutionAt("one", p.subject(execution(i))), asked[len(asked)-1])
			continue
		}
		require.Equal(t, "two", answer)
	}
	require.Len(t, asked, p.owned(b, 40)["one"])
	leave()
	require.Zero(t, p.owned(a, 40)["here"])
}

// TestTheOwnerHereIsStopping: a request for a process that takes no more goes to another one.
func TestTheOwnerHereIsStopping(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	a, clock := p.asker()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	end, err := owners.Announce(bus.Plain{Conn: conn}, p.names, "one")
	require.NoError(t, err)
	defer end()
	defer a.Stay("one", func(context.Context, *nats.Msg) (*nats.Msg, error) { return nil, nats.ErrNoResponders })()
	natstest.Eventually(t, natstest.Patience, "the process is known", func() bool {
		clock.turn(time.Second)
		return a.Owner(execution(1)) == "one"
	})
	p.process("two")
	require.Equal(t, "two", p.answers(a, execution(1)))
}

// TestWithoutOwners: requests go to any process while none is known, and nothing is sent to processes of other installations.
func TestWithoutOwners(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	_, err := conn.Subscribe(p.names.Executions(), func(request *nats.Msg) { _ = request.Respond([]byte("any")) })
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	o, _ := p.asker()
	assert.Equal(t, map[string]int{"any": 3}, p.owned(o, 3))
	answer, err := owners.Anybody(conn).For(execution(1)).RequestMsgWithContext(t.Context(), &nats.Msg{Subject: p.subject(execution(1))})
	require.NoError(t, err)
	assert.Equal(t, "any", string(answer.Data))
}

// TestNobodyAnswers: whoever asks learns that nobody has received the request.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	p := &pool{t, natstest.Names(t)}
	o, _ := p.asker()
	of := execution(1)
	_, err := o.For(of).RequestMsgWithContext(t.Context(), &nats.Msg{Subject: p.subject(of)})
	assert.ErrorIs(t, err, nats.ErrNoResponders)
}
