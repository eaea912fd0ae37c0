package site

import (
	"maps"
	"slices"
	"time"
)

// State is what a site is for the installation.
type State string

// The states of a site. It takes writes only in the first two.
const (
	// Active: the roles work here.
	Active State = "active"
	// Draining: a handover was asked for. The roles still work, but no worker gets a new run.
	Draining State = "draining"
	// Stopping: the roles stop, so that the streams can be fenced.
	Stopping State = "stopping"
	// Fenced: the streams take nothing, and the other site may take over.
	Fenced State = "fenced"
	// Standby: the streams are mirrors of the other site's.
	Standby State = "standby"
	// Promoting: the site takes over. Its mirrors become streams.
	Promoting State = "promoting"
	// Rejoining: the other site has taken over. What this one has beyond that is kept, and its streams become mirrors.
	Rejoining State = "rejoining"
)

// Record is what a site says of itself. It is stored as JSON in the bucket of [subjects.Names.SiteBucket].
type Record struct {
	// Site is the JetStream domain of the site, Peer that of the other one.
	Site string `json:"site"`
	Peer string `json:"peer"`
	// State is what the site is, Since when it became that.
	State State     `json:"state"`
	Since time.Time `json:"since"`
	// Term counts takeovers: it is 1 at first and grows with each. At a standby it is the term of the site that it mirrors.
	Term uint64 `json:"term"`
	// From is the term of the streams with which this term began: that of the site that handed over or was lost. It is 0 in the first.
	From uint64 `json:"from,omitempty"`
	// Forced says that this term began, or is beginning, without the consent of the site that was active.
	Forced bool `json:"forced,omitempty"`
	// Deadline is when a handover is given up, by the clock of the process that was asked; only while draining and stopping.
	Deadline time.Time `json:"deadline,omitzero"`
	// Cuts has, for each mirrored stream by its name, the last sequence that belongs to the term before: up to there both sites have the same.
	Cuts map[string]uint64 `json:"cuts,omitempty"`
	// Taken says that a site that takes over has got what waited at the other one. It is not to be copied again, since it may run already.
	Taken bool `json:"taken,omitempty"`
	// Reviewed says that the site was looked at for what is inconsistent again, after it had taken over and its roles had run for a while.
	Reviewed bool `json:"reviewed,omitempty"`
	// Complete says that the mirrors of a standby have had everything once, since it became that.
	Complete bool `json:"complete,omitempty"`
	// Ahead are the streams of which a standby had more than the active site, when it first had: that one has lost what it had acknowledged. It stays until the standby is made
	// anew, since nobody sees any more that the two differ, once the active site has written as much again.
	Ahead []string `json:"ahead,omitempty"`
	// Floors has, for each journal stream by its name, the sequence up to which the other site had carried out all entries when it was last asked; only
	// at a standby and while it takes over.
	Floors map[string]uint64 `json:"floors,omitempty"`
	// Noted is when the floors were stored.
	Noted time.Time `json:"noted,omitzero"`
	// Problem says why the last handover was given up; empty if it was not.
	Problem string `json:"problem,omitempty"`
}

// Works reports whether the roles of the installation may run at a site. A nil record is that of an installation with only one site.
func (r *Record) Works() bool {
	return r == nil || r.State == Active || r.State == Draining
}

// Clone returns a deep copy.
func (r *Record) Clone() *Record {
	other := *r
	other.Cuts, other.Floors, other.Ahead = maps.Clone(r.Cuts), maps.Clone(r.Floors), slices.Clone(r.Ahead)
	return &other
}

// Linked returns the first record of a site that is active.
func Linked(site, peer string, now time.Time) *Record {
	return &Record{Site: site, Peer: peer, State: Active, Since: now, Term: 1}
}

// Joined returns the first record of a site that is to be the standby of another one.
func Joined(site string, peer *Record, now time.Time) *Record {
	return &Record{Site: site, Peer: peer.Site, State: Standby, Since: now, Term: peer.Term}
}

// outranks reports whether a site has taken over from another one, and needs nothing of it any more. If both were forced to take over at once, the
// names decide.
func (r *Record) outranks(other *Record) bool {
	if r == nil || len(r.Cuts) == 0 {
		return false
	}
	switch r.State {
	case Active, Draining, Stopping:
	case Promoting:
		if !r.Forced && !r.Taken { // it has yet to copy what waits there
			return false
		}
	default:
		return false
	}
	return r.Term > other.Term || r.Term == other.Term && r.Site > other.Site
}

// Displaced says what the other site has done without this one, which has worked until now: then its roles must not begin. peer is the record of
// that site, nil if it has none. The text is empty if this site may go on.
func (r *Record) Displaced(peer *Record) string {
	switch {
	case peer == nil || peer.Peer != r.Site || peer.Site != r.Peer:
		return ""
	case peer.outranks(r):
		return "has taken over"
	case peer.State == Promoting && peer.Forced && peer.Term > r.Term:
		return "takes over"
	}
	return ""
}

// Shared returns the last sequence of a stream up to which a site has the same as another one that outranks it. If both have left the same
// term, they have the same up to the earlier of their cuts.
func (r *Record) Shared(with *Record, stream string) uint64 {
	theirs := with.Cuts[stream]
	if own, ok := r.Cuts[stream]; ok && with.From < r.Term {
		return min(own, theirs)
	}
	return theirs
}
