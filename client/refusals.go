package client

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Refusals tell the requests of a [Client] at once that NATS refuses them. NATS does not answer a request that its user may not make: it reports an
// error of the connection, which names the subject. Without Refusals, such a request ends when its time is over. Let Handle be the error handler
// of the connection, and Refusals that of the [Config]:
//
//	var refusals client.Refusals
//	conn, err := nats.Connect(url, nats.ErrorHandler(refusals.Handle))
//	api, err := client.New(conn, client.Config{Refusals: &refusals})
//
// The zero value is ready, for one connection. It is safe for concurrent use.
type Refusals struct {
	mu      sync.Mutex
	waiting map[*waiting]struct{}
	// deaf says that NATS lets the user hear no answers, and since which connection of the connection.
	deaf  *schedule.Error
	since uint64
}

// waiting is something that NATS may refuse.
type waiting struct {
	// subjects are those of messages or of a subscription. Refusals.mu guards them.
	subjects map[string]struct{}
	tell     func(error)
}

var refusedSubject = regexp.MustCompile(`(Publish|Subscription) to "(\S+)"`)

// Handle takes an error of the connection. It is a nats.ErrHandler. Errors that are no refusals are left to others.
func (r *Refusals) Handle(conn *nats.Conn, _ *nats.Subscription, err error) {
	found := refusedSubject.FindStringSubmatch(err.Error())
	if !errors.Is(err, nats.ErrPermissionViolation) || found == nil {
		return
	}
	subject := found[2]
	refused := refusalOf(found[1], subject)
	r.mu.Lock()
	defer r.mu.Unlock()
	isDeaf := found[1] == "Subscription" && strings.HasPrefix(subject, inboxes(conn))
	if isDeaf {
		refused = schedule.Errorf(schedule.CodePermissionDenied, "NATS does not let this user hear answers: let the user subscribe to %s>", inboxes(conn))
		r.deaf, r.since = refused, conn.Stats().Reconnects
	}
	for w := range r.waiting {
		if _, found := w.subjects[subject]; isDeaf || found {
			w.tell(refused)
		}
	}
}

// refusalOf says what NATS refuses, in its word for what somebody has tried.
func refusalOf(what, subject string) *schedule.Error {
	verb := "publish on"
	if what == "Subscription" {
		verb = "subscribe to"
	}
	return schedule.Errorf(schedule.CodePermissionDenied, "NATS does not let this user %s %s", verb, subject)
}

// refusalIn returns a refusal if it is what the last error of a connection says, and otherwise nil.
func refusalIn(last error, what, subject string) error {
	if last == nil || !errors.Is(last, nats.ErrPermissionViolation) || !strings.Contains(last.Error(), what+` to "`+subject+`"`) {
		return nil
	}
	return refusalOf(what, subject)
}

// inboxes is what the subjects of answers begin with.
func inboxes(conn *nats.Conn) string {
	if conn.Opts.InboxPrefix == "" {
		return nats.InboxPrefix
	}
	return conn.Opts.InboxPrefix + "."
}

// Guard returns a context that ends when NATS refuses the user of the connection a message on one of some subjects; the cause of its end is an
// [ErrPermissionDenied] then. sends names a subject before a message is sent there. It is for requests that a library makes over the connection, such as
// those to JetStream. stop must be called. sends may be called after that, and by several goroutines at once.
func (r *Refusals) Guard(ctx context.Context, conn *nats.Conn) (guarded context.Context, sends func(subject string), stop func()) {
	guarded, end := context.WithCancelCause(ctx)
	if r == nil {
		return guarded, func(string) {}, func() { end(nil) }
	}
	one := &waiting{map[string]struct{}{}, end}
	forget, err := r.wait(conn, one)
	if err != nil {
		end(err)
		return guarded, func(string) {}, func() {}
	}
	sends = func(subject string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		one.subjects[subject] = struct{}{}
	}
	return guarded, sends, func() {
		forget()
		end(nil)
	}
}

// await calls tell, in another goroutine, if NATS refuses a subject, until forget is called. It returns an error if NATS has refused all answers.
func (r *Refusals) await(conn *nats.Conn, subject string, tell func(error)) (forget func(), err error) {
	return r.wait(conn, &waiting{map[string]struct{}{subject: {}}, tell})
}

func (r *Refusals) wait(conn *nats.Conn, one *waiting) (forget func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deaf != nil && r.since == conn.Stats().Reconnects {
		return nil, r.deaf
	}
	if r.waiting == nil {
		r.waiting = map[*waiting]struct{}{}
	}
	r.waiting[one] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, one)
	}, nil
}
