// Package pathtest holds what tests of several packages of pathcheck share: certificates, and servers of raw connections.
package pathtest
