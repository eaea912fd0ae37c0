// Package jsmodel is a model of JetStream in memory: as much of it as Carillon uses, without goroutines, clock or I/O.
//
// A [Server] holds streams and consumers, made from the very configurations that an installation uses. Its methods are
// told the time. What a network and crashes add to that, delays, lost replies, repeats, another order, is the matter of
// the simulation around it; the model is what every server of a cluster agrees on.
//
// That the model behaves as the server does is tested by carrying out the same random operations on both.
//
// It may be imported by internal/simulation and tests, and must never become part of the product.
package jsmodel
