package callers

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// maxCredentials bounds the length of credentials. A JWT of a NATS user with many permissions has some thousand bytes.
const maxCredentials = 8 << 10

// ErrUnreadable says that a text holds no credentials.
var ErrUnreadable = errors.New(`the header authorization is neither "Bearer KEY" nor "Basic …": a KEY is NATS-USER:PASSWORD, the token of a NATS user, ` +
	`or the JWT of a NATS user that is a bearer token`)

// The credentials of people are unreadable in other words than those of programs.
var (
	errNoUser = errors.New("a user has a name, and its password has at most 8192 bytes")
	errNoKey  = errors.New("this is no token or JWT of a NATS user: it is empty, or has more than 8192 bytes")
	errNoFile = errors.New("this is no credentials file of NATS: it has the JWT and the seed of a user, between lines of dashes, or the seed of an nkey alone")
)

// Credentials are those of a NATS user: a name and a password, a token, a JWT, a JWT with its seed, or the seed of an nkey. Printing them shows
// nothing of them. They can be compared.
type Credentials struct {
	user, password, token, jwt, seed string
}

// Password returns the credentials of a user with a password. The error is for people.
func Password(user, password string) (Credentials, error) {
	if user == "" || len(user)+len(password) > maxCredentials {
		return Credentials{}, errNoUser
	}
	return Credentials{user: user, password: password}, nil
}

// Key returns the credentials that "Bearer KEY" stands for: see [Parse]. The error is for people.
func Key(key string) (Credentials, error) {
	key = strings.TrimSpace(key)
	if key == "" || len(key) > maxCredentials {
		return Credentials{}, errNoKey
	}
	return parseKey(key)
}

// File returns the credentials of a text that a file of the type .creds has, or of the seed of an nkey. The error is for people.
func File(text string) (Credentials, error) {
	if len(text) > 2*maxCredentials {
		return Credentials{}, errNoFile
	}
	text = strings.TrimSpace(text)
	pair, err := nkeys.ParseDecoratedUserNKey([]byte(text))
	if err != nil {
		return Credentials{}, errNoFile
	}
	seed, err := pair.Seed()
	if err != nil {
		return Credentials{}, errNoFile
	}
	found := Credentials{seed: string(seed)}
	if token, err := nkeys.ParseDecoratedJWT([]byte(text)); err == nil && strings.Count(token, ".") == 2 {
		found.jwt = token
	}
	return found, nil
}

// Name is what NATS calls the user: its name, that of its JWT, or its public key. A token has no name, and is called token.
func (c Credentials) Name() string {
	if c.user != "" {
		return c.user
	}
	if claims, err := jwt.DecodeUserClaims(c.jwt); err == nil {
		return cmp.Or(claims.Name, claims.Subject)
	}
	if pair, err := nkeys.FromSeed([]byte(c.seed)); err == nil {
		if key, err := pair.PublicKey(); err == nil {
			return key
		}
	}
	return "token"
}

// Parse reads the value of the header authorization.
//
//   - "Basic …" is a user and a password, as in HTTP.
//   - "Bearer USER:PASSWORD" is the same, for clients that can only send an API key.
//   - "Bearer JWT" is the JWT of a NATS user. NATS accepts it only if it is a bearer token, since its owner keeps the seed.
//   - "Bearer TOKEN" is a token of NATS.
//
// Anything else is [ErrUnreadable].
func Parse(header string) (Credentials, error) {
	scheme, value, _ := strings.Cut(header, " ")
	value = strings.TrimSpace(value)
	if value == "" || len(value) > maxCredentials {
		return Credentials{}, ErrUnreadable
	}
	switch strings.ToLower(scheme) {
	case "basic":
		text, err := base64.StdEncoding.DecodeString(value)
		user, password, found := strings.Cut(string(text), ":")
		if err != nil || !found || user == "" {
			return Credentials{}, ErrUnreadable
		}
		return Credentials{user: user, password: password}, nil
	case "bearer":
		return parseKey(value)
	}
	return Credentials{}, ErrUnreadable
}

func parseKey(key string) (Credentials, error) {
	user, password, found := strings.Cut(key, ":")
	switch {
	case found && user == "":
		return Credentials{}, ErrUnreadable
	case found:
		return Credentials{user: user, password: password}, nil
	case strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2:
		return Credentials{jwt: key}, nil
	}
	return Credentials{token: key}, nil
}

// String says what kind of credentials they are.
func (c Credentials) String() string {
	switch {
	case c.user != "":
		return "a user and a password"
	case c.jwt != "" && c.seed != "":
		return "a JWT and its seed"
	case c.jwt != "":
		return "a JWT"
	case c.seed != "":
		return "the seed of an nkey"
	}
	return "a token"
}

// GoString is String.
func (c Credentials) GoString() string { return c.String() }

// Digest identifies credentials without having them in memory once more. It is for this process, and must be shown to nobody.
func (c Credentials) Digest() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", c.user, c.password, c.token, c.jwt, c.seed))
}

// apply makes a connection one of the owner of the credentials, whoever the dialer is otherwise. It must be the last option.
func (c Credentials) apply(o *nats.Options) error {
	o.Nkey, o.UserJWT, o.SignatureCB, o.TokenHandler, o.UserInfo = "", nil, nil, nil, nil
	o.User, o.Password, o.Token = c.user, c.password, c.token
	o.InboxPrefix = ""
	if c.jwt != "" {
		o.UserJWT = func() (string, error) { return c.jwt, nil }
		o.SignatureCB = func([]byte) ([]byte, error) { return nil, nil } // NATS asks for no signature of a bearer token
	}
	if c.seed != "" {
		if err := c.sign(o); err != nil {
			return err
		}
	}
	if o.InProcessServer != nil {
		o.InProcessServer = pipes{o.InProcessServer}
	}
	servers := make([]string, len(o.Servers))
	for i, server := range o.Servers {
		servers[i] = withoutUser(server)
	}
	o.Servers, o.Url = servers, withoutUser(o.Url)
	return nil
}

// sign lets a connection sign what NATS asks for by the seed.
func (c Credentials) sign(o *nats.Options) error {
	pair, err := nkeys.FromSeed([]byte(c.seed))
	if err != nil {
		return err
	}
	o.SignatureCB = pair.Sign
	if c.jwt == "" {
		o.Nkey, err = pair.PublicKey()
	}
	return err
}

// withoutUser removes the user from the URL of a server: it would count more than the options do. NATS takes a URL without a scheme, too.
func withoutUser(server string) string {
	at := strings.LastIndexByte(server, '@')
	if at < 0 {
		return server
	}
	if scheme, _, found := strings.Cut(server[:at], "://"); found {
		return scheme + "://" + server[at+1:]
	}
	return server[at+1:]
}
