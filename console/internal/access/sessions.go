package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/callers"
)

const (
	// maxSessions is how many people may be logged in, and maxOfUser how many of them as the same user. One more as the same user ends the one of that user
	// that has been idle for longest. Otherwise, [callers.MakesRoom] says which session ends.
	maxSessions = 1000
	maxOfUser   = 100
	// maxIdle ends a session that nobody has used: what a page does by itself is no use. maxAge ends any.
	maxIdle = 2 * time.Hour
	maxAge  = 24 * time.Hour
	// sweepEvery is how often sessions that are over are looked for.
	sweepEvery = time.Minute
	// idBytes is the length of a random number.
	idBytes = 32
)

// The names of the cookie. A browser takes one that begins with __Host- only over TLS, from the host itself, and for all of its paths.
const (
	cookieOverTLS = "__Host-carillon"
	cookiePlain   = "carillon"
)

// session is somebody who is logged in.
type session struct {
	credentials callers.Credentials
	// owner is who stands behind the credentials, for the choice of the session that makes room for another.
	owner string
	// namespace is what they want to see first; empty for the usual one.
	namespace string
	began     time.Time
	used      time.Time // sessions.mu guards it
	// over ends with the session, by end.
	over context.Context
	end  context.CancelFunc
}

// sessions are all of them. The zero value is not ready: see newSessions. They are safe for concurrent use.
type sessions struct {
	// forget is called, without a lock, when the last session with some credentials has ended.
	forget func(callers.Credentials)

	mu sync.Mutex
	of map[key]*session
	// ended are those that have just been removed.
	ended []*session
}

// key is the hash of the number of a session: whoever reads the memory of the map or measures how long a search takes learns nothing.
type key [sha256.Size]byte

func keyOf(number string) key { return sha256.Sum256([]byte(number)) }

func newSessions(forget func(callers.Credentials)) *sessions {
	return &sessions{forget: forget, of: map[key]*session{}}
}

// begin makes a session of a client whom NATS knows, and returns its number.
func (s *sessions) begin(client callers.Client, namespace string, now time.Time) (number string) {
	var random [idBytes]byte
	_, _ = rand.Read(random[:]) // it never fails
	number = base64.RawURLEncoding.EncodeToString(random[:])
	over, end := context.WithCancel(context.Background()) //permit:context.Background a session outlives the request that makes it
	one := &session{credentials: client.Credentials, owner: client.Owner(), namespace: namespace, began: now, used: now, over: over, end: end}
	s.change(func() {
		s.makeRoom(one)
		s.of[keyOf(number)] = one
	})
	return number
}

// makeRoom ends sessions, so that there may be another.
func (s *sessions) makeRoom(another *session) {
	var idlest key
	var same int
	for at, one := range s.of {
		if one.credentials != another.credentials {
			continue
		}
		if same++; same == 1 || one.used.Before(s.of[idlest].used) {
			idlest = at
		}
	}
	if same >= maxOfUser {
		s.drop(idlest)
	}
	if len(s.of) < maxSessions {
		return
	}
	if at, found := callers.MakesRoom(s.of, another.owner, (*session).share); found {
		s.drop(at)
	}
}

func (s *session) share() callers.Share { return callers.Share{Owner: s.owner, Used: s.used} }

// find returns the session with a number; nil if there is none. isUse says that a person does something.
func (s *sessions) find(number string, isUse bool, now time.Time) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.of[keyOf(number)]
	if one == nil || one.isOver(now) {
		return nil
	}
	if isUse {
		one.used = now
	}
	return one
}

func (s *session) isOver(now time.Time) bool {
	return now.Sub(s.used) >= maxIdle || now.Sub(s.began) >= maxAge
}

// remove ends the session with a number, if there is one.
func (s *sessions) remove(number string) { s.change(func() { s.drop(keyOf(number)) }) }

// sweep ends the sessions that are over.
func (s *sessions) sweep(now time.Time) {
	s.change(func() {
		for of, one := range s.of {
			if one.isOver(now) {
				s.drop(of)
			}
		}
	})
}

// clear ends all sessions.
func (s *sessions) clear() {
	s.change(func() {
		for of := range s.of {
			s.drop(of)
		}
	})
}

// drop removes a session, if it is there. change ends it.
func (s *sessions) drop(at key) {
	if one := s.of[at]; one != nil {
		delete(s.of, at)
		s.ended = append(s.ended, one)
	}
}

// change lets a function drop sessions, and then ends them.
func (s *sessions) change(do func()) {
	s.mu.Lock()
	do()
	ended := s.ended
	s.ended = nil
	var last []*session
	for _, one := range ended {
		if !s.has(one.credentials) {
			last = append(last, one)
		}
	}
	s.mu.Unlock()
	for _, one := range ended {
		one.end()
	}
	for _, one := range last {
		s.forget(one.credentials)
	}
}

// has reports whether there is a session with some credentials.
func (s *sessions) has(credentials callers.Credentials) bool {
	for _, one := range s.of {
		if one.credentials == credentials {
			return true
		}
	}
	return false
}

// numberOf returns the number of a session that a browser has sent; empty if it has sent none.
func numberOf(r *http.Request) string {
	if cookie, err := r.Cookie(cookieName(r)); err == nil {
		return cookie.Value
	}
	return ""
}

func cookieName(r *http.Request) string {
	if isSecure(r) {
		return cookieOverTLS
	}
	return cookiePlain
}

// isSecure reports whether the browser speaks TLS, with this process or with a proxy before it. Whoever claims that wrongly gets a cookie that its own
// browser does not send.
func isSecure(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// setCookie gives a browser the number of its session. An empty number takes it away.
func setCookie(w http.ResponseWriter, r *http.Request, number string) {
	cookie := &http.Cookie{
		Name: cookieName(r), Value: number, Path: "/", HttpOnly: true, Secure: isSecure(r),
		SameSite: http.SameSiteLaxMode, // a link in a message leads to a page, and changes come from pages of the console alone
	}
	if number == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}
