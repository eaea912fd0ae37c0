// Package prose describes in words when a spec is due ([Describe]), and what may surprise in it ([Warnings]).
//
// It owns no state; everything in it is a pure function of its arguments. Package specproc defines what a spec means, and this
// package asks it for times. Nothing here decides when an action is due.
//
// It imports schedule and specproc. Frontends, the command line and programs of users may import it; specproc must not.
package prose
