package callers

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Sweep forgets those who have not been here for a while.
func (c *Callers) Sweep() { c.sweep(c.config.Now()) }

// WithoutUser is the URL of a server without its user.
func WithoutUser(server string) string { return withoutUser(server) }

// Crowd are as many users as there may be, without connections, who came one second after the other until now. Those with the given numbers
// have been refused so long ago that they may come again.
func Crowd(now time.Time, over ...int) *Callers {
	c := &Callers{known: map[[sha256.Size]byte]*user{}, leaving: map[*user]struct{}{}}
	for i := range MaxKnown {
		u := newUser(now.Add(time.Duration(i-MaxKnown) * time.Second))
		u.ready(nil, now)
		c.known[numbered(i)] = u
	}
	for _, i := range over {
		u := newUser(now)
		u.ready(ErrRefused, now.Add(-time.Hour))
		c.known[numbered(i)] = u
	}
	return c
}

// MakeRoom lets one more user in, and returns the numbers of those who are gone.
func (c *Callers) MakeRoom(now time.Time) (gone []int) {
	c.makeRoom(now, "")
	c.work.Wait()
	for i := range MaxKnown {
		if c.known[numbered(i)] == nil {
			gone = append(gone, i)
		}
	}
	return gone
}

// numbered is the key of a user of a crowd; that of a negative number is nobody's.
func numbered(i int) (key [sha256.Size]byte) {
	binary.BigEndian.PutUint64(key[:], uint64(i))
	return key
}

// Busy lets all but one of a crowd have a request in progress. A negative number means all of them.
func (c *Callers) Busy(but int) {
	for key, u := range c.known {
		if key != numbered(but) {
			u.requests++
		}
	}
}

// HasRoom reports whether another user can be let in.
func (c *Callers) HasRoom(now time.Time) bool { return c.makeRoom(now, "") }

// Belongs says whose users of a crowd are, from one number to before another.
func (c *Callers) Belongs(owner string, from, to int) {
	for i := from; i < to; i++ {
		c.known[numbered(i)].owner = owner
	}
}

// LetIn makes room for another user of an owner, who then is one of the crowd and was here just now. It returns how many users each owner has then, and
// nil if there is no room.
func (c *Callers) LetIn(now time.Time, owner string, number int) map[string]int {
	if !c.makeRoom(now, owner) {
		return nil
	}
	u := newUser(now)
	u.owner = owner
	u.ready(nil, now)
	c.known[numbered(number)] = u
	has := map[string]int{}
	for _, u := range c.known {
		has[u.owner]++
	}
	return has
}
