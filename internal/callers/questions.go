package callers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// askPatience is how long NATS may take to pass a message on or to refuse it.
const askPatience = 3 * time.Second

// ErrSilent says that NATS has neither passed a message on nor refused it.
var ErrSilent = errors.New("NATS does not say whether the client may do this")

// questions are the messages that users have sent to find out what they may do. The zero value is ready. It is safe for concurrent use.
type questions struct {
	mu   sync.Mutex
	open map[string]*question // by their random numbers
}

// question is whether a user may publish on a subject.
type question struct {
	user    *user
	subject string
	answer  chan bool // has room for the one answer
}

// ask finds out whether a user may publish on a subject.
func (q *questions) ask(ctx context.Context, u *user, subject string) (bool, error) {
	one, number := &question{u, subject, make(chan bool, 1)}, uuid.NewString()
	q.add(number, one)
	defer q.remove(number)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askPatience) // others may wait for the same answer
	defer cancel()
	message := &nats.Msg{Subject: subject, Reply: u.inbox + "." + number, Data: []byte(number)}
	if err := u.conn.PublishMsg(message); err != nil {
		return false, fmt.Errorf("ask NATS what a client may do: %w", err)
	}
	select {
	case may := <-one.answer:
		return may, nil
	case <-ctx.Done():
		return false, fmt.Errorf("%w: publish on %s", ErrSilent, subject)
	}
}

func (q *questions) add(number string, one *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[string]*question{}
	}
	q.open[number] = one
}

func (q *questions) remove(number string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, number)
}

// heard notes a message that the gateway has heard: its sender may publish on the subject. Nobody else knows the number.
func (q *questions) heard(m *nats.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one := q.open[string(m.Data)]; one != nil && one.subject == m.Subject {
		one.give(true)
	}
}

// unheard notes that NATS has passed a message on to nobody.
func (q *questions) unheard(m *nats.Msg) {
	if !bus.NobodyListens(m) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if one := q.open[m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]]; one != nil {
		one.give(false)
	}
}

// refused notes that NATS has refused a message of a user. The error names the subject.
func (q *questions) refused(u *user, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.open {
		if one.user == u && strings.Contains(err.Error(), `Publish to "`+one.subject+`"`) {
			one.give(false)
		}
	}
}

// give answers a question. Only the first answer counts.
func (q *question) give(may bool) {
	select {
	case q.answer <- may:
	default:
	}
}
