// Package prose says in words when a spec is due ([Describe]), and what may surprise in it ([Warnings]).
//
// It owns no state; everything in it is a pure function of its arguments. What a spec means is up to package specproc, which this
// package asks for times; nothing here decides when an action is due.
//
// It imports schedule and specproc. Frontends, the command line and programs of users may import it; specproc must not.
package prose
