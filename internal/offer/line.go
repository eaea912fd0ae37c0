package offer

import (
	"container/list"
	"time"

	"golang.org/x/time/rate"
)

// line is what a gateway knows of one queue: the polls that wait there, in the order in which they get offers, and the offers that wait for
// a poll. One of the two is always empty, unless the queue has a limit. It is pure: it has no clock, and who calls it sends the matches and takes the lock.
type line struct {
	// reserve is how long a poll is kept for an offer, keep is how long a task without a poll waits for one.
	reserve, keep time.Duration

	polls    map[uint64]*poll // that have not ended, by number
	waiting  *list.List       // of *poll: those that are not reserved
	offers   *list.List       // of *standingOffer
	byID     map[string]*list.Element
	strays   []stray
	reserved int           // how many polls are reserved
	limiter  *rate.Limiter // how many offers polls take in a second; nil for any number
	denied   time.Time     // when the limit last kept an offer from a poll
	left     time.Time     // when the last poll ended
}

// poll is a poll of a worker. It ends once: with a task, or with none.
type poll struct {
	number uint64
	poller Poller
	// end receives the task; nil if there is none.
	end chan []byte
	// turn counts the reservations. until is when the present one ends; zero if there is none.
	turn  uint64
	until time.Time
	place *list.Element // in line.waiting; nil if reserved
	// last means that the time of the poll is over: it only stays for the task for which it is reserved.
	last bool
}

// standingOffer is an offer that waits for a poll.
type standingOffer struct {
	id, reply string
	until     time.Time
}

// stray is a task whose poll has gone.
type stray struct {
	task  []byte
	until time.Time
}

// match is an offer that a poll takes. turn is the poll's reservation for it.
type match struct {
	reply string
	poll  *poll
	turn  uint64
}

func newLine(reserve, keep time.Duration) *line {
	return &line{
		reserve: reserve, keep: keep,
		polls: map[uint64]*poll{}, waiting: list.New(), offers: list.New(), byID: map[string]*list.Element{},
	}
}

func newPoll(number uint64, poller Poller) *poll {
	return &poll{number: number, poller: poller, end: make(chan []byte, 1)}
}

// join adds a poll, and returns the offer that it takes, nil if none waits.
func (l *line) join(now time.Time, p *poll) *match {
	l.polls[p.number] = p
	if len(l.strays) > 0 {
		task := l.strays[0].task
		l.strays = l.strays[1:]
		l.finish(now, p, task)
		return nil
	}
	return l.free(now, p, false)
}

// free lets a poll take the first standing offer. If there is none, the poll waits: at the front of the line or at its end.
func (l *line) free(now time.Time, p *poll, front bool) *match {
	l.unreserve(p)
	if p.last {
		l.finish(now, p, nil)
		return nil
	}
	if o := l.next(now); o != nil && l.may(now) {
		l.drop(l.byID[o.id])
		l.take(now, p)
		return &match{o.reply, p, p.turn}
	}
	if front {
		p.place = l.waiting.PushFront(p)
	} else {
		p.place = l.waiting.PushBack(p)
	}
	return nil
}

// next returns the first standing offer, after it has dropped those whose time is over; nil if there is none.
func (l *line) next(now time.Time) *standingOffer {
	for e := l.offers.Front(); e != nil; e = l.offers.Front() {
		if o := e.Value.(standingOffer); now.Before(o.until) {
			return &o
		}
		l.drop(e)
	}
	return nil
}

// limit lets polls take so many offers in a second, more than zero, or any number if that is the greatest number that there is.
func (l *line) limit(now time.Time, perSecond rate.Limit) {
	switch burst := max(1, int(perSecond*limitBurst)); {
	case perSecond == rate.Inf:
		l.limiter = nil
	case l.limiter == nil:
		l.limiter = rate.NewLimiter(perSecond, burst)
	case l.limiter.Limit() != perSecond:
		l.limiter.SetLimitAt(now, perSecond)
		l.limiter.SetBurstAt(now, burst)
	}
}

// limitBurst is for how many seconds a queue that was quiet may make up.
const limitBurst = 0.2

// may reports whether the limit lets a poll take an offer now, and counts it.
func (l *line) may(now time.Time) bool {
	if l.limiter == nil || l.limiter.AllowN(now, 1) {
		return true
	}
	l.denied = now
	return false
}

// limited reports whether the limit kept an offer from a poll in the last 30 s.
func (l *line) limited(now time.Time) bool {
	return !l.denied.IsZero() && now.Sub(l.denied) < 2*meanAge
}

// held reports whether an offer stands only because of the limit.
func (l *line) held() bool { return l.offers.Len() > 0 && l.waiting.Len() > 0 }

// take reserves a poll.
func (l *line) take(now time.Time, p *poll) {
	l.unplace(p)
	p.turn++
	p.until = now.Add(l.reserve)
	l.reserved++
}

func (l *line) unreserve(p *poll) {
	if !p.until.IsZero() {
		p.until = time.Time{}
		l.reserved--
	}
}

func (l *line) unplace(p *poll) {
	if p.place != nil {
		l.waiting.Remove(p.place)
		p.place = nil
	}
}

func (l *line) drop(e *list.Element) standingOffer {
	o := l.offers.Remove(e).(standingOffer)
	delete(l.byID, o.id)
	return o
}

// finish ends a poll with a task, or with none.
func (l *line) finish(now time.Time, p *poll, task []byte) {
	l.unplace(p)
	l.unreserve(p)
	delete(l.polls, p.number)
	l.left = now
	p.end <- task
}

// ask reserves the poll that has waited longest; nil if none waits, or the limit does not let it.
func (l *line) ask(now time.Time) *poll {
	e := l.waiting.Front()
	if e == nil || !l.may(now) {
		return nil
	}
	p := e.Value.(*poll)
	l.take(now, p)
	return p
}

// stand finds a poll for an offer, or keeps the offer until a poll is free.
func (l *line) stand(now time.Time, o standingOffer) *match {
	if _, known := l.byID[o.id]; known {
		return nil
	}
	if p := l.ask(now); p != nil {
		return &match{o.reply, p, p.turn}
	}
	l.byID[o.id] = l.offers.PushBack(o)
	return nil
}

// retract ends a standing offer, if it still stands.
func (l *line) retract(id string) {
	if e, known := l.byID[id]; known {
		l.drop(e)
	}
}

// retractAll ends all standing offers.
func (l *line) retractAll() {
	l.offers.Init()
	clear(l.byID)
}

// hand gives a task to the poll with a number. If the poll has ended, the task goes to another poll, or waits for one. No task means that
// the offer for which the poll was reserved is withdrawn; a later reservation is not affected.
func (l *line) hand(now time.Time, number, turn uint64, task []byte) *match {
	p := l.polls[number]
	switch {
	case len(task) == 0:
		if p != nil && p.turn == turn && !p.until.IsZero() {
			return l.free(now, p, true)
		}
	case p != nil:
		l.finish(now, p, task)
	case l.waiting.Len() > 0:
		l.finish(now, l.waiting.Front().Value.(*poll), task)
	default:
		l.strays = append(l.strays, stray{task, now.Add(l.keep)})
	}
	return nil
}

// leave ends a poll without a task, unless it has one. If the poll is reserved and its worker is still there, the poll only ends when the
// reservation does.
func (l *line) leave(now time.Time, p *poll, there bool) {
	if l.polls[p.number] == nil {
		return // it has ended: the task, if any, is in p.end
	}
	if there && !p.until.IsZero() {
		p.last = true
		return
	}
	l.finish(now, p, nil)
}

// leaveAll is leave for all polls.
func (l *line) leaveAll(now time.Time) {
	for _, p := range l.polls {
		l.leave(now, p, true)
	}
}

// expire ends what is over: reservations, standing offers, and strays. It returns matches, and how many strays are lost.
func (l *line) expire(now time.Time) (matches []*match, lost int) {
	for _, p := range l.polls {
		if l.reserved == 0 {
			break
		}
		if !p.until.IsZero() && !now.Before(p.until) {
			if m := l.free(now, p, true); m != nil {
				matches = append(matches, m)
			}
		}
	}
	for e := l.offers.Front(); e != nil; {
		next := e.Next()
		if !now.Before(e.Value.(standingOffer).until) {
			l.drop(e)
		}
		e = next
	}
	for l.held() && l.may(now) { // what has come first, goes first
		o, p := l.drop(l.offers.Front()), l.waiting.Front().Value.(*poll)
		l.take(now, p)
		matches = append(matches, &match{o.reply, p, p.turn})
	}
	for len(l.strays) > 0 && !now.Before(l.strays[0].until) {
		l.strays, lost = l.strays[1:], lost+1
	}
	return matches, lost
}

// rests reports whether nothing in the line can be over before something else happens to it.
func (l *line) rests() bool { return l.reserved == 0 && l.offers.Len() == 0 && len(l.strays) == 0 }
