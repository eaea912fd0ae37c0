package offer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// defaultReserve is how long a poll is kept for an offer: as long as it may take to write that the task is started.
	defaultReserve = 3 * time.Second
	// defaultLinger is how long a gateway listens for offers after the last poll of a queue.
	defaultLinger = 10 * time.Second
	// defaultRemember is how long a gateway tells who has polled a queue.
	defaultRemember = 5 * time.Minute
	// keepStrays is how long a task whose poll has gone waits for another poll. It is started already, so its timeouts run.
	keepStrays = 2 * time.Second
	// sweepEvery is how late an end by time may be noticed.
	sweepEvery = 250 * time.Millisecond
	// inbound is how many messages may wait to be worked on before NATS drops some.
	inbound = 1 << 15
	// group is the queue group of the gateways on the subjects of offers.
	group = "gateway"
)

// Config is what [NewPolls] and [NewOfferer] need. Conn is required.
type Config struct {
	Conn bus.Conn
	// Names are the names of the installation. Default: subjects.Default().
	Names subjects.Names
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Reserve is how long a poll is kept for an offer; 3 s by default. Linger is how long a gateway listens for offers after the last poll
	// of a queue; 10 s by default.
	Reserve, Linger time.Duration
	// NewID returns an ID that no other process has; a random UUID by default.
	NewID func() string
}

func (c Config) withDefaults() (Config, error) {
	if c.Conn == nil {
		return c, errors.New("offer: Config.Conn is required")
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	c.Reserve, c.Linger = cmp.Or(c.Reserve, defaultReserve), cmp.Or(c.Linger, defaultLinger)
	return c, nil
}

// Polls has the polls that wait in a process. [NewPolls] makes it, and [Polls.Run] must run. It is safe for concurrent use.
type Polls struct {
	config Config
	inbox  string // what the inboxes of all polls begin with
	msgs   chan *nats.Msg
	limits chan struct{}        // has an element if a limit has come
	fixed  []*nats.Subscription // that do not depend on queues

	mu      sync.Mutex
	served  map[Queue]*served
	bySub   map[*nats.Subscription]*served
	byID    map[uint64]*served
	awake   map[*served]struct{} // the lines that time may change
	last    uint64               // the last number given to a poll or a line
	stopped bool                 // no more polls are taken
	closed  bool                 // nothing waits for a task any more
	wake    chan struct{}        // has an element if awake is no longer empty
}

// served is a queue that had a poll in the last minutes.
type served struct {
	queue Queue
	id    uint64
	line  *line
	seen  *seen
	// limit is how many tasks in a second all gateways together hand out, by what workers say; 0 if they do not.
	limit float64
	// one and all are the subscriptions for offers to one gateway and to all of them; nil if no poll waits, or has just done so.
	one, all *nats.Subscription
}

// NewPolls returns the polls of a process. The caller must call Run; until then no poll gets an offer.
func NewPolls(config Config) (*Polls, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Polls{
		config: config, inbox: config.Names.PollInbox(config.NewID()), msgs: make(chan *nats.Msg, inbound), limits: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		served: map[Queue]*served{}, bySub: map[*nats.Subscription]*served{}, byID: map[uint64]*served{}, awake: map[*served]struct{}{},
	}, nil
}

// Wait waits for a task of a queue, on behalf of a worker. It returns the task as it was handed, or nil if ctx ends first. If a task
// arrived before ctx ended, Wait returns it. If the deadline of ctx passes while an offer has just reserved the poll, Wait goes on for up
// to Config.Reserve; if ctx is canceled, because the worker is gone, it returns at once, and the task goes to another poll. It returns
// nil when Run ends. Errors: the queue is not valid, [ErrStopped], or those of NATS.
func (p *Polls) Wait(ctx context.Context, q Queue, worker Poller) ([]byte, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	own, s, err := p.begin(q, worker)
	if err != nil {
		return nil, err
	}
	var task []byte
	select {
	case task = <-own.end:
	case <-ctx.Done():
		p.leave(s, own, errors.Is(ctx.Err(), context.DeadlineExceeded))
		task = <-own.end
	}
	outcome := metrics.PollEmpty
	if task != nil {
		outcome = metrics.PollTask
	}
	metrics.Polls.Add(ctx, 1, q.Namespace, string(q.Kind), outcome)
	return task, nil
}

// begin puts a poll into its line, and subscribes to offers before that.
func (p *Polls) begin(q Queue, worker Poller) (*poll, *served, error) {
	p.mu.Lock()
	if p.stopped {
		p.mu.Unlock()
		return nil, nil, ErrStopped
	}
	s, now := p.of(q), p.config.Now()
	began, err := p.subscribe(s)
	if err != nil {
		p.mu.Unlock()
		return nil, nil, err
	}
	p.last++
	own := newPoll(p.last, worker)
	s.seen.note(now, worker)
	m := s.line.join(now, own)
	p.attend(s)
	p.mu.Unlock()
	if began {
		// If NATS cannot be reached, matching finds the queue by itself.
		_ = p.config.Conn.PublishMsg(&nats.Msg{Subject: p.config.Names.BacklogHint(q)})
	}
	p.accept(s, m)
	return own, s, nil
}

// of returns what is known of a queue.
func (p *Polls) of(q Queue) *served {
	s := p.served[q]
	if s == nil {
		p.last++
		s = &served{queue: q, id: p.last, line: newLine(p.config.Reserve, keepStrays), seen: newSeen(defaultRemember)}
		p.served[q], p.byID[s.id] = s, s
	}
	return s
}

// subscribe reports whether it has begun to subscribe to offers.
func (p *Polls) subscribe(s *served) (began bool, err error) {
	if s.one != nil {
		return false, nil
	}
	one, err := p.config.Conn.ChanQueueSubscribe(p.config.Names.Poll(s.queue), group, p.msgs)
	if err != nil {
		return false, err
	}
	all, err := p.config.Conn.ChanQueueSubscribe(p.config.Names.StandingOffer(s.queue), "", p.msgs)
	if err != nil {
		p.config.Conn.Unsubscribe(one)
		return false, err
	}
	s.one, s.all = one, all
	p.bySub[one], p.bySub[all] = s, s
	return true, nil
}

func (p *Polls) unsubscribe(s *served) {
	if s.one == nil {
		return
	}
	delete(p.bySub, s.one)
	delete(p.bySub, s.all)
	p.config.Conn.Unsubscribe(s.one)
	p.config.Conn.Unsubscribe(s.all)
	s.one, s.all = nil, nil
}

// leave ends a poll whose ctx has ended.
func (p *Polls) leave(s *served, own *poll, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.line.leave(p.config.Now(), own, there && !p.closed)
	p.attend(s)
}

// attend makes the loop look at a line again if time may change it.
func (p *Polls) attend(s *served) {
	if s.line.rests() && len(s.line.polls) > 0 {
		return
	}
	p.awake[s] = struct{}{}
	p.rouse()
}

// rouse makes the loop sweep soon.
func (p *Polls) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// accept answers an offer with a poll. If the answer does not arrive, the reservation ends by itself.
func (p *Polls) accept(s *served, m *match) {
	if m == nil {
		return
	}
	worker := m.poll.poller
	worker.Inbox = p.inboxOf(s.id, m.poll.number, m.turn)
	p.answer(m.reply, answer{Poller: worker})
}

func (p *Polls) answer(reply string, with any) {
	data, err := codec.Marshal(with)
	if err == nil && reply != "" {
		_ = p.config.Conn.PublishMsg(&nats.Msg{Subject: reply, Data: data})
	}
}
