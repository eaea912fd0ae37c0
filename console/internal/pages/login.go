package pages

import (
	"net/http"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/schedule"
)

// viewLogin is the template of the page on which people log in.
const viewLogin = "login"

// Login is what the page shows on which people log in.
type Login struct {
	// User and Namespace are what somebody has written before, and Next is where they go after the login.
	User, Namespace, Next string
	// Problem says why the last attempt has failed; empty if there was none.
	Problem string
	// IsOut says that they have just logged out.
	IsOut bool
}

// ShowLogin shows the page on which people log in.
func (p *Pages) ShowLogin(w http.ResponseWriter, r *http.Request, status int, login Login) {
	protect(w.Header())
	p.show(r, nil, status, &answer{view: viewLogin, title: "Log in", data: login}).write(w, r)
}

// Refuse shows why somebody is not let in to a page, with a status of HTTP.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request, status int, err *schedule.Error) {
	protect(w.Header())
	refused := refusal.Of(err)
	refused.Status = status
	refusal.SayWhen(w.Header(), err.RetryAfter)
	p.show(r, nil, status, &answer{view: "problem", title: "Problem", data: refused}).write(w, r)
}
