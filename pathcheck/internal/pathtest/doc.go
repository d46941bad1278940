// Package pathtest holds code that the tests of several pathcheck packages share: certificates, and servers for raw connections.
package pathtest
