/** The front door of calls between processes over gRPC; rpc-server.ts and tls.ts have its types. */
export { connect, type RpcClient, type StreamLine } from './client.ts';
export { endStream, startServer, unary } from './server.ts';
export { type Role, ROLE } from './roles.ts';
export { checkVersion, fullNameOf, loadService, methodOf, versioned } from './service.ts';
export { SECURITY, type TlsIdentity } from './tls.ts';
