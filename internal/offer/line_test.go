package offer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var start = time.Unix(1_800_000_000, 0)

func at(d time.Duration) time.Time { return start.Add(d) }

// ended returns what a poll has ended with; "waits" if it has not.
func ended(p *poll) string {
	select {
	case task := <-p.end:
		p.end <- task
		return string(task)
	default:
		return "waits"
	}
}

func joined(t *testing.T, l *line, numbers ...uint64) []*poll {
	t.Helper()
	polls := make([]*poll, len(numbers))
	for i, number := range numbers {
		polls[i] = newPoll(number, Poller{Identity: fmt.Sprint("w", number)})
		require.Nil(t, l.join(start, polls[i]))
	}
	return polls
}

// TestFirstComeFirstServed: the poll that has waited longest gets the first offer, and its task.
func TestFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	l := newLine(time.Second, time.Second)
	polls := joined(t, l, 1, 2)
	assert.Same(t, polls[0], l.ask(start))
	assert.Same(t, polls[1], l.ask(start))
	assert.Nil(t, l.ask(start))
	l.hand(start, 2, 1, []byte("b"))
	l.hand(start, 1, 1, []byte("a"))
	assert.Equal(t, "a", ended(polls[0]))
	assert.Equal(t, "b", ended(polls[1]))
	assert.Empty(t, l.polls)
	assert.True(t, l.rests())
}

// TestAWithdrawnOfferKeepsThePlace: the poll is first again.
func TestAWithdrawnOfferKeepsThePlace(t *testing.T) {
	t.Parallel()
	l := newLine(time.Second, time.Second)
	polls := joined(t, l, 1, 2)
	p := l.ask(start)
	require.Nil(t, l.hand(start, p.number, p.turn, nil))
	assert.Same(t, polls[0], l.ask(start))
	assert.Nil(t, l.hand(start, p.number, 1, nil), "a withdrawal that comes twice does not concern the next offer")
	assert.Same(t, polls[1], l.ask(start))
}

// TestASilentOffererLosesThePoll, but its task is welcome as long as the poll waits.
func TestASilentOffererLosesThePoll(t *testing.T) {
	t.Parallel()
	l := newLine(time.Second, time.Second)
	p := joined(t, l, 1)[0]
	require.Same(t, p, l.ask(start))
	matches, lost := l.expire(at(999 * time.Millisecond))
	assert.Empty(t, matches)
	assert.Zero(t, lost)
	assert.Nil(t, l.ask(start))
	l.expire(at(time.Second))
	require.Same(t, p, l.ask(at(time.Second)))
	l.hand(at(time.Second), 1, 1, []byte("late"))
	assert.Equal(t, "late", ended(p))
	l.hand(at(time.Second), 1, 2, []byte("next"))
	next := newPoll(2, Poller{})
	require.Nil(t, l.join(at(time.Second), next))
	assert.Equal(t, "next", ended(next), "the task of the second offer goes to another poll")
}

// TestStandingOffers: they get the polls that become free, in the order in which they came.
func TestStandingOffers(t *testing.T) {
	t.Parallel()
	l := newLine(time.Second, time.Second)
	for _, id := range []string{"a", "b", "a", "c", "d"} {
		require.Nil(t, l.stand(start, standingOffer{id, "to " + id, at(time.Minute)}))
	}
	l.retract("b")
	l.retract("unknown")
	p := newPoll(1, Poller{})
	m := l.join(start, p)
	require.Equal(t, &match{"to a", p, 1}, m)
	m = l.hand(start, 1, 1, nil)
	require.Equal(t, &match{"to c", p, 2}, m, "withdrawn, and free for the next")
	matches, _ := l.expire(at(time.Second))
	require.Equal(t, []*match{{"to d", p, 3}}, matches)
	assert.Zero(t, l.offers.Len())
	assert.Empty(t, l.byID)

	require.Nil(t, l.stand(start, standingOffer{"e", "to e", at(time.Second)}))
	l.expire(at(time.Second))
	assert.Zero(t, l.offers.Len(), "its patience is over")
	require.Nil(t, l.hand(at(time.Second), 1, 3, nil))
	m = l.stand(at(time.Second), standingOffer{"f", "to f", at(time.Minute)})
	require.Equal(t, &match{"to f", p, 4}, m, "a poll waits already")
}

// TestATaskOutlivesItsPoll: it goes to another poll, at once or soon.
func TestATaskOutlivesItsPoll(t *testing.T) {
	t.Parallel()
	l := newLine(time.Second, time.Second)
	polls := joined(t, l, 1, 2)
	l.ask(start)
	l.leave(start, polls[0], false)
	assert.Empty(t, ended(polls[0]))
	l.hand(start, 1, 1, []byte("a"))
	assert.Equal(t, "a", ended(polls[1]))

	l.hand(start, 2, 1, []byte("b"))
	l.hand(at(500*time.Millisecond), 2, 1, []byte("c"))
	_, lost := l.expire(at(time.Second))
	assert.Equal(t, 1, lost)
	third := joined(t, l, 3)[0]
	assert.Equal(t, "c", ended(third))
	assert.True(t, l.rests())
}

// TestAPollWhoseTimeIsOver stays for the task for which it is reserved, but for no other.
func TestAPollWhoseTimeIsOver(t *testing.T) {
	t.Parallel()
	l := newLine(time.Second, time.Second)
	polls := joined(t, l, 1, 2, 3, 4)
	for range 3 {
		l.ask(start)
	}
	for _, p := range polls {
		l.leave(start, p, true)
	}
	assert.Empty(t, ended(polls[3]), "it was not reserved")
	l.hand(start, 1, 1, []byte("a"))
	assert.Equal(t, "a", ended(polls[0]))
	l.hand(start, 2, 1, nil)
	assert.Empty(t, ended(polls[1]), "withdrawn")
	l.expire(at(time.Second))
	assert.Empty(t, ended(polls[2]), "the reservation is over")
	assert.Empty(t, l.polls)
	l.leave(start, polls[0], true)
	assert.Equal(t, "a", ended(polls[0]), "a poll ends once")
}

// model is what a line must do, and what a test knows of it.
type model struct {
	line    *line
	now     time.Time
	last    uint64
	polls   []*poll
	offered []*match // that were not answered yet
	handed  map[string]bool
	lost    int
}

func (m *model) matched(t *rapid.T, found *match) {
	if found == nil {
		return
	}
	assert.False(t, found.poll.last)
	assert.Equal(t, found.turn, found.poll.turn)
	m.offered = append(m.offered, found)
}

// check checks what holds at all times.
func (m *model) check(t *rapid.T) {
	l := m.line
	if l.waiting.Len() > 0 {
		for e := l.offers.Front(); e != nil; e = e.Next() {
			t.Fatalf("a poll and an offer wait for each other: %v", e.Value)
		}
	}
	reserved, placed := 0, 0
	for _, p := range l.polls {
		require.Equal(t, "waits", ended(p))
		require.NotEqual(t, p.until.IsZero(), p.place == nil, "a poll is in line or reserved")
		if p.place == nil {
			reserved++
		} else {
			placed++
		}
	}
	require.Equal(t, l.reserved, reserved)
	require.Equal(t, l.waiting.Len(), placed)
	require.Len(t, l.byID, l.offers.Len())
	got := map[string]int{}
	for _, p := range m.polls {
		if l.polls[p.number] == nil {
			got[ended(p)]++
		}
	}
	for _, s := range l.strays {
		got[string(s.task)]++
	}
	tasks := m.lost
	for task := range m.handed {
		require.LessOrEqual(t, got[task], 1, task)
		tasks -= 1 - got[task]
	}
	require.Zero(t, tasks, "every task that was handed has one place, or is counted as lost")
}

// TestLineKeepsEveryTask: whatever happens in whatever order, no task is doubled, none is lost uncounted, and no poll and no offer wait for
// each other.
func TestLineKeepsEveryTask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{line: newLine(3*time.Second, 2*time.Second), now: start, handed: map[string]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"":      m.check,
			"join":  m.join,
			"ask":   m.ask,
			"stand": m.stand,
			"retract": func(t *rapid.T) {
				m.line.retract(fmt.Sprint(rapid.Uint64Range(1, m.last+1).Draw(t, "id")))
			},
			"hand":     m.hand,
			"withdraw": m.withdraw,
			"leave":    m.leave,
			"pass":     m.pass,
		})
		m.now = m.now.Add(time.Hour)
		m.line.leaveAll(m.now)
		matches, lost := m.line.expire(m.now)
		m.lost += lost
		assert.Empty(t, matches)
		m.check(t)
		assert.Empty(t, m.line.polls)
		assert.True(t, m.line.rests())
	})
}

func (m *model) join(t *rapid.T) {
	m.last++
	p := newPoll(m.last, Poller{})
	m.polls = append(m.polls, p)
	m.matched(t, m.line.join(m.now, p))
}

func (m *model) ask(t *rapid.T) {
	if p := m.line.ask(m.now); p != nil {
		m.matched(t, &match{"asked", p, p.turn})
	}
}

func (m *model) stand(t *rapid.T) {
	m.last++
	patience := time.Duration(rapid.IntRange(1, 5).Draw(t, "patience")) * time.Second
	m.matched(t, m.line.stand(m.now, standingOffer{fmt.Sprint(m.last), "r", m.now.Add(patience)}))
}

// draw takes an offer that was not answered.
func (m *model) draw(t *rapid.T) *match {
	if len(m.offered) == 0 {
		t.Skip("no offer")
	}
	i := rapid.IntRange(0, len(m.offered)-1).Draw(t, "offer")
	found := m.offered[i]
	m.offered = slices.Delete(m.offered, i, i+1)
	return found
}

func (m *model) hand(t *rapid.T) {
	found := m.draw(t)
	task := fmt.Sprintf("%d-%d", found.poll.number, found.turn)
	m.handed[task] = true
	m.matched(t, m.line.hand(m.now, found.poll.number, found.turn, []byte(task)))
}

func (m *model) withdraw(t *rapid.T) {
	found := m.draw(t)
	m.matched(t, m.line.hand(m.now, found.poll.number, found.turn, nil))
}

func (m *model) leave(t *rapid.T) {
	if len(m.polls) == 0 {
		t.Skip("no poll")
	}
	p := rapid.SampledFrom(m.polls).Draw(t, "poll")
	m.line.leave(m.now, p, rapid.Bool().Draw(t, "there"))
}

func (m *model) pass(t *rapid.T) {
	m.now = m.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "tenths")) * 100 * time.Millisecond)
	matches, lost := m.line.expire(m.now)
	m.lost += lost
	for _, found := range matches {
		m.matched(t, found)
	}
}
