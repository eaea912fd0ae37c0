package access

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	loginPath  = "/login"
	logoutPath = "/logout"
	// maxForm is how many bytes a login may have.
	maxForm = 64 << 10
)

// The reasons that the page of the login may be given by its address.
const (
	paramNext   = "next"
	paramReason = "reason"
	// reasonOut says that somebody has logged out.
	reasonOut = "out"
)

// Form is what the page of the login shows. It has no secrets.
type Form struct {
	// User and Namespace are what somebody has written before, and Next is where to go after the login: a path.
	User, Namespace, Next string
	// Problem says why the last attempt has failed; empty if there was none.
	Problem string
	// IsOut says that they have just logged out.
	IsOut bool
}

// loginAddress is where somebody logs in who wanted to go elsewhere.
func loginAddress(r *http.Request) string {
	next := r.URL.RequestURI()
	if r.Method != http.MethodGet || r.Header.Get("HX-Request") != "" {
		next = cameFrom(r)
	}
	if next = safe(next); next == "/" {
		return loginPath
	}
	return loginPath + "?" + url.Values{paramNext: {next}}.Encode()
}

// cameFrom is the page from which a request came; the first page if that is not known.
func cameFrom(r *http.Request) string {
	from, err := url.Parse(cmp.Or(r.Header.Get("HX-Current-URL"), r.Referer()))
	if err != nil || from.Host != r.Host {
		return "/"
	}
	return from.RequestURI()
}

// safe returns an address if it is a path of this server, and otherwise that of the first page. Anybody can make a link with an address.
func safe(next string) string {
	to, err := url.Parse(next)
	switch {
	case err != nil, to.Scheme != "", to.Host != "", !strings.HasPrefix(next, "/"), strings.HasPrefix(next, "//"), strings.Contains(next, `\`),
		to.Path == loginPath, to.Path == logoutPath:
		return "/"
	}
	return to.RequestURI()
}

// login shows the page on which people log in, and lets them.
func (a *Access) login(w http.ResponseWriter, r *http.Request) {
	if wait, allowed := a.allow(&Visitor{}, r); !allowed {
		a.refuse(w, r, tooFast(wait))
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		query := r.URL.Query()
		a.config.ShowLogin(w, r, http.StatusOK, Form{Next: safe(query.Get(paramNext)), IsOut: query.Get(paramReason) == reasonOut})
	case http.MethodPost:
		a.enter(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		a.config.Refuse(w, r, http.StatusMethodNotAllowed, schedule.Errorf(schedule.CodeInvalidArgument, "use GET or POST"))
	}
}

// enter begins a session, or says why not.
func (a *Access) enter(w http.ResponseWriter, r *http.Request) {
	form, refused := a.tryEnter(w, r)
	if refused != nil {
		refusal.SayWhen(w.Header(), refused.RetryAfter)
		form.Problem = refused.Message
		a.config.ShowLogin(w, r, refused.status, form)
		return
	}
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
}

func (a *Access) tryEnter(w http.ResponseWriter, r *http.Request) (Form, *denied) {
	client, now := callers.Client{Address: a.addressOf(r)}, a.config.Now()
	wait, undo, allowed := a.logins.allow(a.networkOf(r), now)
	if !allowed {
		d := deny(http.StatusTooManyRequests, schedule.CodeResourceExhausted, "too many attempts to log in have failed: try again in %s", wait)
		d.RetryAfter = schedule.Duration(wait)
		return Form{Next: "/"}, d
	}
	form, credentials, refused := read(w, r)
	if refused != nil {
		return form, refused
	}
	client.Credentials = credentials
	_, done, err := a.config.Users.Use(r.Context(), client)
	if !errors.Is(err, callers.ErrRefused) {
		undo() // only what NATS has refused is a failure of whoever tries
	}
	if err != nil {
		return form, a.explain(r.Context(), err)
	}
	defer done()
	a.sessions.remove(numberOf(r))
	setCookie(w, r, a.sessions.begin(client, form.Namespace, now))
	a.config.Logger.InfoContext(r.Context(), "logged in to the console", "user", credentials.Name(), "kind", credentials.String(), "address", client.Address)
	return form, nil
}

// read reads what somebody has written into the form.
func read(w http.ResponseWriter, r *http.Request) (form Form, credentials callers.Credentials, refused *denied) {
	form.Next = "/"
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	if err == nil {
		err = r.ParseMultipartForm(maxForm)
	}
	if err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return form, credentials, deny(http.StatusRequestEntityTooLarge, schedule.CodeInvalidArgument, "the form cannot be read: it may have %d bytes", maxForm)
	}
	form.User, form.Namespace, form.Next = r.PostFormValue("user"), strings.TrimSpace(r.PostFormValue("namespace")), safe(r.PostFormValue(paramNext))
	credentials, err = written(r)
	if err == nil && form.Namespace != "" {
		err = schedule.ValidateNamespace(form.Namespace)
	}
	if err != nil {
		return form, credentials, deny(http.StatusBadRequest, schedule.CodeInvalidArgument, "%s", err)
	}
	return form, credentials, nil
}

// written returns the credentials of a form. A token or a file counts more than a user and a password, which browsers fill in by themselves.
func written(r *http.Request) (callers.Credentials, error) {
	token, file := strings.TrimSpace(r.PostFormValue("token")), strings.TrimSpace(r.PostFormValue("creds")+uploaded(r))
	switch {
	case token != "" && file != "":
		return callers.Credentials{}, errors.New("there are a token and a credentials file: give one of them")
	case token != "":
		return callers.Key(token)
	case file != "":
		return callers.File(file)
	}
	return callers.Password(r.PostFormValue("user"), r.PostFormValue("password"))
}

// uploaded returns the file of a form; empty if there is none. It is in memory, and no longer than the form.
func uploaded(r *http.Request) string {
	file, _, err := r.FormFile("file")
	if err != nil {
		return ""
	}
	defer file.Close()
	text, _ := io.ReadAll(file) // memory can be read
	return string(text)
}

// logout ends a session.
func (a *Access) logout(w http.ResponseWriter, r *http.Request) {
	if wait, allowed := a.allow(a.sessionOf(r), r); !allowed {
		a.refuse(w, r, tooFast(wait))
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		a.config.Refuse(w, r, http.StatusMethodNotAllowed, schedule.Errorf(schedule.CodeInvalidArgument, "use POST"))
		return
	}
	if number := numberOf(r); number != "" {
		a.sessions.remove(number)
	}
	setCookie(w, r, "")
	http.Redirect(w, r, loginPath+"?"+paramReason+"="+reasonOut, http.StatusSeeOther)
}
