package callers_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// accounts are the users of the tests: one of the installation, a tenant without permissions of its own, users with permissions in either
// account, and a user of an account that imports nothing.
const accounts = `
accounts {
  HOME {
    users: [
      { user: service, password: s }
      { user: reader, password: r, permissions { publish: "carillon.api.team.workflow.read", subscribe { deny: ">" } } }
    ]
    exports: [ { service: "carillon.api.team.workflow.*", accounts: [TENANT] } ]
  }
  TENANT {
    users: [
      { user: tenant, password: t }
      { user: worker, password: w, permissions { publish: "carillon.api.team.workflow.work", subscribe { deny: ">" } } }
    ]
    imports: [ { service: { account: HOME, subject: "carillon.api.team.workflow.*" } } ]
  }
  STRANGER { limits { max_connections: 1 }, users: [ { user: stranger, password: x } ] }
}
`

// scene is a NATS server with users, and the callers of a gateway.
type scene struct {
	*callers.Callers
	t      testing.TB
	server *server.Server
	file   string
	now    atomic.Pointer[time.Time]
	dials  atomic.Int32
	log    natstest.Lines
}

// newScene starts a server with a configuration. The installation connects with the given option.
func newScene(t testing.TB, config string, service nats.Option) *scene {
	t.Helper()
	s := &scene{t: t, file: filepath.Join(t.TempDir(), "nats.conf")}
	s.pass(0)
	s.configure(config)
	options, err := server.ProcessConfigFile(s.file)
	require.NoError(t, err)
	options.NoLog, options.NoSigs = true, true
	s.server, err = server.NewServer(options)
	require.NoError(t, err)
	s.server.Start()
	t.Cleanup(s.server.WaitForShutdown)
	t.Cleanup(s.server.Shutdown)
	require.True(t, s.server.ReadyForConnections(natstest.Patience))
	dial := func(options ...nats.Option) (*nats.Conn, error) {
		s.dials.Add(1)
		return nats.Connect(s.server.ClientURL(), append([]nats.Option{service}, options...)...)
	}
	own, err := dial()
	require.NoError(t, err)
	t.Cleanup(own.Close)
	before := s.server.NumSubscriptions()
	s.Callers, err = callers.New(callers.Config{
		Conn: own, Names: subjects.Default(), Dial: dial, Logger: s.log.Logger(), Now: func() time.Time { return *s.now.Load() },
	})
	require.NoError(t, err)
	require.Equal(t, before+1, s.server.NumSubscriptions(), "the questions of users are heard from now on")
	t.Cleanup(s.Close)
	return s
}

// configure writes the configuration of the server.
func (s *scene) configure(config string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(s.file, []byte("listen: \"127.0.0.1:-1\"\n"+config), 0o600))
}

// withAccounts is newScene with the accounts above.
func withAccounts(t testing.TB) *scene {
	t.Helper()
	return newScene(t, accounts, nats.UserInfo("service", "s"))
}

// pass lets time pass.
func (s *scene) pass(d time.Duration) {
	next := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if now := s.now.Load(); now != nil {
		next = now.Add(d)
	}
	s.now.Store(&next)
}

func (s *scene) client(header string) callers.Client {
	s.t.Helper()
	credentials, err := callers.Parse(header)
	require.NoError(s.t, err)
	return callers.Client{Credentials: credentials, Address: "192.0.2.1"}
}

func (s *scene) may(header, namespace, right string) bool {
	s.t.Helper()
	may, err := s.May(s.t.Context(), s.client(header), subjects.Default().API(namespace, subjects.ThingWorkflow, right))
	require.NoError(s.t, err, "%s %s %s", header, namespace, right)
	return may
}

// TestNATSDecides: permissions, exports and imports all count, whether or not the user may hear anything.
func TestNATSDecides(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	all := []string{subjects.RightRead, subjects.RightWrite, subjects.RightWork, subjects.RightAdmin}
	for header, want := range map[string][]string{
		"Bearer service:s":  {"team read", "team write", "team work", "team admin", "other read", "other write", "other work", "other admin", "_ read", "_ write", "_ work", "_ admin"},
		"Bearer tenant:t":   {"team read", "team write", "team work", "team admin"},
		"Bearer reader:r":   {"team read"},
		"Bearer worker:w":   {"team work"},
		"Bearer stranger:x": nil,
		"Basic " + base64.StdEncoding.EncodeToString([]byte("reader:r")): {"team read"},
	} {
		var got []string
		for _, namespace := range []string{"team", "other", subjects.NoNamespace} {
			for _, right := range all {
				if s.may(header, namespace, right) {
					got = append(got, namespace+" "+right)
				}
			}
		}
		assert.Equal(t, want, got, header)
	}
}

// TestWrongCredentials are refused, are shown to NATS rarely, and appear nowhere.
func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	require.NoError(t, s.Judges())
	before := s.dials.Load()
	for _, header := range []string{"Bearer reader:guess", "Bearer guess:guess", "Bearer guess", "Bearer eyJ.guess.guess"} {
		for range 3 {
			err := s.Known(t.Context(), s.client(header))
			require.ErrorIs(t, err, callers.ErrRefused, header)
			assert.NotContains(t, err.Error(), "guess")
		}
	}
	assert.Equal(t, before+4, s.dials.Load(), "each once")
	s.pass(time.Minute)
	require.ErrorIs(t, s.Known(t.Context(), s.client("Bearer guess")), callers.ErrRefused)
	assert.Equal(t, before+5, s.dials.Load(), "and again after a while")
	assert.Equal(t, 5, s.log.Count("NATS does not know the credentials of a client"))
	assert.Zero(t, s.log.Count("guess"))
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", s.client("Bearer guess"), s.client("Bearer guess"), s.client("Bearer a:guess")), "guess")
}

// TestGuessing: an address that sends wrong credentials is soon not listened to, except with credentials that are known already.
func TestGuessing(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	require.NoError(t, s.Known(t.Context(), s.client("Bearer reader:r")))
	refused := 0
	var err error
	for ; refused < 100; refused++ {
		if err = s.Known(t.Context(), s.client(fmt.Sprintf("Bearer reader:guess-%d", refused))); errors.Is(err, callers.ErrTooMany) {
			break
		}
		require.ErrorIs(t, err, callers.ErrRefused)
	}
	require.ErrorIs(t, err, callers.ErrTooMany)
	assert.Equal(t, 20, refused)
	require.NoError(t, s.Known(t.Context(), s.client("Bearer reader:r")))
	for n := range 300 { // which is more than all addresses together may open at once
		require.ErrorIs(t, s.Known(t.Context(), s.client(fmt.Sprintf("Bearer reader:further-%d", n))), callers.ErrTooMany)
	}
	elsewhere := s.client("Bearer worker:w")
	elsewhere.Address = "192.0.2.2"
	require.NoError(t, s.Known(t.Context(), elsewhere))
	s.pass(2 * time.Second)
	require.ErrorIs(t, s.Known(t.Context(), s.client("Bearer reader:again")), callers.ErrRefused)
	require.ErrorIs(t, s.Known(t.Context(), s.client("Bearer reader:once-more")), callers.ErrTooMany)
}

// TestOneConnectionForAll: many requests at once open one connection, and send one message.
func TestOneConnectionForAll(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	require.NoError(t, s.Judges())
	before := s.dials.Load()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { assert.False(t, s.may("Bearer stranger:x", "team", "read")) })
	}
	all.Wait()
	assert.Equal(t, before+1, s.dials.Load())
}

// TestWhatIsTakenAway ends: a permission after some seconds, and everything that a user may once the user is gone.
func TestWhatIsTakenAway(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	require.True(t, s.may("Bearer reader:r", "team", "read"))
	require.True(t, s.may("Bearer worker:w", "team", "work"))
	s.configure(strings.Replace(strings.Replace(accounts, "team.workflow.read", "team.workflow.none", 1), "user: worker", "user: gone", 1))
	require.NoError(t, s.server.Reload())
	natstest.Eventually(t, natstest.Patience, "the permission counts no more", func() bool {
		s.pass(11 * time.Second)
		return !s.may("Bearer reader:r", "team", "read")
	})
	natstest.Eventually(t, natstest.Patience, "the user is not known", func() bool {
		s.pass(11 * time.Second)
		return errors.Is(s.Known(t.Context(), s.client("Bearer worker:w")), callers.ErrRefused)
	})
}

// TestIdleConnectionsAreClosed, and opened again for the next request.
func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	require.NoError(t, s.Known(t.Context(), s.client("Bearer stranger:x")))
	s.Sweep()
	_, err := nats.Connect(s.server.ClientURL(), nats.UserInfo("stranger", "x"))
	require.ErrorIs(t, err, nats.ErrMaxAccountConnectionsExceeded)
	s.pass(5 * time.Minute)
	s.Sweep()
	natstest.Eventually(t, natstest.Patience, "it is closed", func() bool {
		conn, err := nats.Connect(s.server.ClientURL(), nats.UserInfo("stranger", "x"))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	natstest.Eventually(t, natstest.Patience, "it is opened again", func() bool {
		s.pass(time.Minute)
		return s.Known(t.Context(), s.client("Bearer stranger:x")) == nil
	})
}

// TestNobodyIsJudged: where NATS takes any credentials, they prove nothing.
func TestNobodyIsJudged(t *testing.T) {
	t.Parallel()
	s := newScene(t, "", nats.UserInfo("service", "s"))
	require.ErrorIs(t, s.Judges(), callers.ErrUnjudged)
	require.ErrorIs(t, s.Known(t.Context(), s.client("Bearer reader:r")), callers.ErrUnjudged)
}

// TestClosed: after the end nobody is let in, and nothing goes on.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	require.NoError(t, s.Known(t.Context(), s.client("Bearer reader:r")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Run(ctx)
	s.Close()
	assert.Error(t, s.Known(t.Context(), s.client("Bearer reader:r")))
	assert.Error(t, s.Judges())
}

func TestParse(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"Bearer a:b": "a user and a password", "bearer a:b:c": "a user and a password", "Bearer a:": "a user and a password",
		"Basic YTpi": "a user and a password", "Bearer abc": "a token", "Bearer eyJhbGciOiJ.eyJqdGkiOiJ.sig": "a JWT", "Bearer eyJ.x": "a token",
	} {
		credentials, err := callers.Parse(header)
		require.NoError(t, err, header)
		assert.Equal(t, want, credentials.String(), header)
	}
	for _, header := range []string{
		"", "Bearer", "Bearer ", "Basic", "Basic !", "Basic YQ==", "Basic OmI=", "Bearer :b", "Digest a:b", "a:b", "Bearer " + strings.Repeat("x", 9000),
	} {
		_, err := callers.Parse(header)
		assert.ErrorIs(t, err, callers.ErrUnreadable, header)
	}
}

// TestTheGatewaysUserDoesNotCount, wherever it is named.
func TestTheGatewaysUserDoesNotCount(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"nats://service:s@n1:4222": "nats://n1:4222", "service:p@ss@n1:4222": "n1:4222", "tls://n1:4222": "tls://n1:4222", "n1": "n1", "": "",
		"nats://token@[::1]:4222": "nats://[::1]:4222",
	} {
		assert.Equal(t, want, callers.WithoutUser(url))
	}
	s := newScene(t, accounts, func(o *nats.Options) error {
		o.Servers[0] = strings.Replace(o.Servers[0], "://", "://service:s@", 1)
		return nil
	})
	assert.False(t, s.may("Bearer reader:r", "team", "write"))
	require.NoError(t, s.Judges())
}

// TestBearerJWT: the JWT of a user is enough if NATS takes it without a signature of the user, and not otherwise.
func TestBearerJWT(t *testing.T) {
	t.Parallel()
	operator, account := newKey(t, nkeys.CreateOperator), newKey(t, nkeys.CreateAccount)
	issued := jwt.NewAccountClaims(account.public)
	own := jwt.NewOperatorClaims(operator.public)
	config := fmt.Sprintf("operator: %s\nresolver: MEMORY\nresolver_preload { %s: %s }\n",
		operator.issue(own), account.public, operator.issue(issued))
	user := func(change func(*jwt.UserClaims)) (token string, key key) {
		key = newKey(t, nkeys.CreateUser)
		claims := jwt.NewUserClaims(key.public)
		change(claims)
		return account.issue(claims), key
	}
	service, serviceKey := user(func(*jwt.UserClaims) {})
	s := newScene(t, config, nats.UserJWTAndSeed(service, string(serviceKey.seed)))
	reader, _ := user(func(c *jwt.UserClaims) {
		c.BearerToken = true
		c.Pub.Allow.Add("carillon.api.team.workflow.read")
	})
	assert.True(t, s.may("Bearer "+reader, "team", "read"))
	assert.False(t, s.may("Bearer "+reader, "team", "write"))
	require.ErrorIs(t, s.Known(t.Context(), s.client("Bearer "+service)), callers.ErrRefused)

	named, namedKey := user(func(c *jwt.UserClaims) { c.Name = "ann" })
	text, err := jwt.FormatUserConfig(named, namedKey.seed)
	require.NoError(t, err)
	file, err := callers.File(string(text))
	require.NoError(t, err)
	assert.Equal(t, "a JWT and its seed", file.String())
	assert.Equal(t, "ann", file.Name())
	require.NoError(t, s.Known(t.Context(), callers.Client{Credentials: file}))
	foreign, err := callers.File(strings.Replace(string(text), string(namedKey.seed), string(serviceKey.seed), 1))
	require.NoError(t, err)
	require.ErrorIs(t, s.Known(t.Context(), callers.Client{Credentials: foreign}), callers.ErrRefused, "the seed of somebody else")
}

// TestSeed: the seed of an nkey is enough for a user that NATS knows by it.
func TestSeed(t *testing.T) {
	t.Parallel()
	service, ann, stranger := newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser)
	own, err := nkeys.FromSeed(service.seed)
	require.NoError(t, err)
	s := newScene(t, fmt.Sprintf("authorization { users: [ { nkey: %s }, { nkey: %s } ] }", service.public, ann.public), nats.Nkey(service.public, own.Sign))
	known, err := callers.File(" " + string(ann.seed) + "\n")
	require.NoError(t, err)
	assert.Equal(t, "the seed of an nkey", known.String())
	assert.Equal(t, ann.public, known.Name())
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", known, known, known), string(ann.seed))
	require.NoError(t, s.Known(t.Context(), callers.Client{Credentials: known}))
	unknown, err := callers.File(string(stranger.seed))
	require.NoError(t, err)
	require.ErrorIs(t, s.Known(t.Context(), callers.Client{Credentials: unknown}), callers.ErrRefused)
}

// TestWhatPeopleWrite: what is no credentials is refused in words for people.
func TestWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9000)
	named, err := callers.Password("ann", "")
	require.NoError(t, err)
	assert.Equal(t, "ann", named.Name())
	token, err := callers.Key(" secret ")
	require.NoError(t, err)
	assert.Equal(t, "token", token.Name())
	same, err := callers.Parse("Bearer secret")
	require.NoError(t, err)
	assert.Equal(t, same, token)
	for _, user := range []string{"", long} {
		_, err = callers.Password(user, "p")
		assert.ErrorContains(t, err, "a user has a name")
	}
	for _, key := range []string{"", " ", long} {
		_, err = callers.Key(key)
		assert.ErrorContains(t, err, "no token or JWT")
	}
	account := newKey(t, nkeys.CreateAccount)
	for _, file := range []string{"", "x", "SUAX", long + long, string(account.seed)} {
		_, err = callers.File(file)
		assert.ErrorContains(t, err, "no credentials file of NATS")
	}
}

// key is a key pair of NATS.
type key struct {
	t      testing.TB
	pair   nkeys.KeyPair
	public string
	seed   []byte
}

func newKey(t *testing.T, create func() (nkeys.KeyPair, error)) key {
	t.Helper()
	pair, err := create()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	return key{t, pair, public, seed}
}

// issue signs claims.
func (k key) issue(claims jwt.Claims) string {
	k.t.Helper()
	token, err := claims.Encode(k.pair)
	require.NoError(k.t, err)
	return token
}
