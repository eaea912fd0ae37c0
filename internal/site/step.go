package site

import (
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Action is what a site does to its streams. Each may be repeated, and may be carried out by several processes at once.
type Action string

// The actions of a site.
const (
	// Nothing is to be done.
	Nothing Action = ""
	// Open lets the streams take writes again, and the workers get runs.
	Open Action = "open"
	// Drain lets no worker get a new run, and looks what is still in progress.
	Drain Action = "drain"
	// Fence takes the subjects from all streams, and says at which sequence each ends. Before that it looks whether all roles have stopped.
	Fence Action = "fence"
	// Hold takes the subjects from all streams again, in case that a late Open has given them back.
	Hold Action = "hold"
	// Mirror makes the mirrors that are missing, also of streams that a late Cut has made of mirrors, and says how far each is.
	Mirror Action = "mirror"
	// Cut makes streams of the mirrors, which take nothing yet, and says at which sequence each ends.
	Cut Action = "cut"
	// Take lets the streams take writes, makes those that are missing, and copies what waits in the queues of the other site, unless the takeover is forced.
	Take Action = "take"
	// Repair makes again what the mirrors cannot have: timers, and tasks.
	Repair Action = "repair"
	// Review repairs what is inconsistent although the roles have run for a while.
	Review Action = "review"
	// Rejoin fences the streams, keeps what the other site does not have, and makes mirrors of them.
	Rejoin Action = "rejoin"
)

// Seen is what the last action has found. The zero value is that of an action that is not done.
type Seen struct {
	// Done is the action that was done. An action that failed, or found that it has to wait, is not done.
	Done Action
	// Ends has the last sequence of each mirrored stream, after Fence and Cut, and that of each mirror, after Mirror.
	Ends map[string]uint64
	// Complete says that all mirrors had everything, after Mirror.
	Complete bool
	// Ahead are the streams of which the mirrors have more than the other site has, after Mirror.
	Ahead []string
	// Floors has what belongs into the record under that name, after Mirror; nil if the other site did not say.
	Floors map[string]uint64
	// Waits says what a drain or a fence still waits for.
	Waits string
}

// Step says what a site does next: the record that it is to have, and the action that belongs to it. peer is the record of the other site,
// nil if that cannot be read. If the record differs from own, it is stored, by compare-and-set, before the action is carried out.
func Step(own, peer *Record, seen Seen, now time.Time) (*Record, Action) {
	if peer.outranks(own) && own.State != Standby && own.State != Rejoining {
		return own.become(Rejoining, now), Rejoin
	}
	switch own.State {
	case Active:
		return own.work(seen, now)
	case Draining:
		return own.drain(peer, seen, now)
	case Stopping:
		return own.stop(seen, now)
	case Fenced:
		return own, Hold
	case Standby:
		return own.follow(peer, seen, now)
	case Promoting:
		return own.promote(seen, now)
	case Rejoining:
		return own.rejoin(peer, seen, now)
	}
	return own, Nothing
}

// reviewAfter is how long after a takeover the roles have to do what they do by themselves.
const reviewAfter = time.Minute

// work reviews, once, what a takeover has made again.
func (r *Record) work(seen Seen, now time.Time) (*Record, Action) {
	switch {
	case r.From == 0 || r.Reviewed || now.Before(r.Since.Add(reviewAfter)):
		return r, Open
	case seen.Done == Review:
		next := r.Clone()
		next.Reviewed = true
		return next, Open
	}
	return r, Review
}

// become returns the record of the next state. Only a site that is fenced or has taken over has cuts.
func (r *Record) become(state State, now time.Time) *Record {
	next := r.Clone()
	next.State, next.Since = state, now
	if state != Draining && state != Stopping {
		next.Deadline = time.Time{}
	}
	return next
}

// giveUp returns to work after a handover that did not succeed in time.
func (r *Record) giveUp(why string, now time.Time) (*Record, Action) {
	next := r.become(Active, now)
	next.Problem = why
	return next, Open
}

func (r *Record) drain(peer *Record, seen Seen, now time.Time) (*Record, Action) {
	ready := peer != nil && peer.State == Standby && peer.Term == r.Term && peer.Complete && len(peer.Ahead) == 0
	switch {
	case seen.Done == Drain && ready:
		next := r.become(Stopping, now)
		return next, Fence
	case now.Before(r.Deadline):
		return r, Drain
	case !ready:
		return r.giveUp("the other site did not answer as a standby of this term, with all that this one has, in time", now)
	}
	return r.giveUp("not in time: "+seen.Waits, now)
}

func (r *Record) stop(seen Seen, now time.Time) (*Record, Action) {
	switch {
	case seen.Done == Fence:
		next := r.become(Fenced, now)
		next.Cuts = seen.Ends
		return next, Hold
	case seen.Waits != "" && !now.Before(r.Deadline):
		return r.giveUp("not in time: "+seen.Waits, now)
	}
	return r, Fence
}

// follow takes over from a fenced site, as soon as the mirrors have all that it had. It looks at the mirrors again after it has heard of a new
// term, since what it has seen before could be older. If the mirrors have more, that site has lost what it had acknowledged, and people decide which of the two is right.
func (r *Record) follow(peer *Record, seen Seen, now time.Time) (*Record, Action) {
	switch {
	case peer == nil || peer.Peer != r.Site:
		return r, Mirror
	case peer.Term > r.Term && (peer.Works() || peer.State == Stopping || peer.State == Fenced):
		next := r.Clone()
		next.Term = peer.Term
		return next, Mirror
	case len(seen.Ahead) > 0 && len(r.Ahead) == 0:
		next := r.Clone()
		next.Ahead = seen.Ahead
		return next, Mirror
	case len(r.Ahead) > 0:
		return r, Mirror
	case peer.State == Fenced && peer.Term == r.Term && seen.Done == Mirror && reaches(seen.Ends, peer.Cuts):
		next := r.become(Promoting, now)
		next.Term, next.From, next.Forced, next.Cuts, next.Problem = peer.Term+1, peer.Term, false, nil, ""
		next.noteFloors(seen.Floors)
		return next, Cut
	case seen.Done == Mirror && (now.Sub(r.Noted) >= noteEvery || seen.Complete && !r.Complete):
		next := r.Clone()
		next.Noted, next.Complete = now, r.Complete || seen.Complete
		next.noteFloors(seen.Floors)
		return next, Mirror
	}
	return r, Mirror
}

const (
	// noteEvery is how often a standby stores how far the other site is.
	noteEvery = time.Minute
	// noteSoon is how long before that it begins to ask for what it stores then: a few looks.
	noteSoon = 5 * time.Second
)

// NeedsFloors reports whether a standby may store the floors after the look that begins now, so that [Seen] must have them: for the first time, after a minute, or to take
// over. Should the look take so long that the standby stores what it has seen without them, it keeps those that it has.
func (r *Record) NeedsFloors(peer *Record, now time.Time) bool {
	return !r.Complete || peer.State != Active || now.Sub(r.Noted) >= noteEvery-noteSoon
}

func (r *Record) noteFloors(floors map[string]uint64) {
	if floors != nil {
		r.Floors = floors
	}
}

// reaches reports whether mirrors have everything up to the cuts.
func reaches(ends, cuts map[string]uint64) bool {
	for stream, cut := range cuts {
		if ends[stream] < cut {
			return false
		}
	}
	return len(cuts) > 0
}

// promote cuts the streams first, and stores where, before they take anything: what comes later belongs to the new term.
func (r *Record) promote(seen Seen, now time.Time) (*Record, Action) {
	switch {
	case len(r.Cuts) == 0 && seen.Done == Cut:
		next := r.Clone()
		next.Cuts = seen.Ends
		return next, Take
	case len(r.Cuts) == 0:
		return r, Cut
	case !r.Taken && seen.Done == Take:
		next := r.Clone()
		next.Taken = true
		return next, Repair
	case !r.Taken:
		return r, Take
	case seen.Done == Repair:
		next := r.become(Active, now)
		next.Taken, next.Reviewed, next.Floors = false, false, nil
		return next, Open
	}
	return r, Repair
}

// rejoin becomes a standby of the site that has taken over. While that one cannot be asked, or has no cuts, nothing is given up.
func (r *Record) rejoin(peer *Record, seen Seen, now time.Time) (*Record, Action) {
	switch {
	case !peer.outranks(r):
		return r, Nothing
	case seen.Done == Rejoin:
		next := r.become(Standby, now)
		next.Term, next.Forced, next.Cuts, next.Problem = peer.Term, false, nil, ""
		next.Complete, next.Ahead = false, nil
		return next, Mirror
	}
	return r, Rejoin
}

// Handover returns the record of a site that is asked to hand over until a deadline. The error has CodeFailedPrecondition if it cannot.
func Handover(own, peer *Record, deadline, now time.Time) (*Record, error) {
	switch {
	case own.State != Active:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is %s, and only an active one hands over: ask the site %q", own.Site, own.State, own.Peer)
	case peer == nil:
		return nil, schedule.Errorf(schedule.CodeUnavailable, "the site %q does not answer: a handover needs both sites", own.Peer)
	case peer.State != Standby || peer.Term != own.Term:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is %s, term %d: a handover needs a standby of term %d", peer.Site, peer.State, peer.Term, own.Term)
	case len(peer.Ahead) > 0:
		return nil, Ahead(own, peer.Ahead)
	case !peer.Complete:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q has never had everything since it became a standby: carillon site status says what it lacks", peer.Site)
	}
	next := own.become(Draining, now)
	next.Deadline, next.Problem = deadline, ""
	return next, nil
}

// Ahead refuses a handover by a site whose standby has more of some streams than it has itself. It has CodeFailedPrecondition.
func Ahead(own *Record, streams []string) error {
	return schedule.Errorf(schedule.CodeFailedPrecondition,
		"the site %q has lost entries that %q has (%s), so a handover would mix the two: carillon site failover at the site that is right, or unlink the standby and link it again",
		own.Site, own.Peer, strings.Join(streams, ", "))
}

// Failover returns the record of a site that is told to take over without the other one. A site that takes over with the consent of the other
// one, and cannot get what waits there, is told to go on without that. The error has CodeFailedPrecondition if the site is active already, or is taking over by force.
func Failover(own, peer *Record, now time.Time) (*Record, error) {
	switch {
	case own.State == Promoting && !own.Forced && !own.Taken:
		next := own.Clone()
		next.Forced = true
		return next, nil
	case own.State != Standby && own.State != Fenced:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is %s, and only a standby or a fenced site takes over", own.Site, own.State)
	}
	next := own.become(Promoting, now)
	next.Term, next.From, next.Forced, next.Cuts, next.Problem, next.Ahead = own.Term+1, own.Term, true, nil, "", nil
	if peer != nil && peer.Term >= next.Term {
		next.Term = peer.Term + 1
	}
	return next, nil
}

// String says in a line what a site is, such as "east: active, term 3". That of a nil record is empty.
func (r *Record) String() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, term %d", r.Site, r.State, r.Term)
	if r.Forced {
		b.WriteString(", forced")
	}
	return b.String()
}
