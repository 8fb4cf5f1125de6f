/** The front door of calls between processes over gRPC. */
export { connect, type RpcClient } from './client.ts';
export { startServer, unary, type RpcServer } from './server.ts';
export { loadService, methodOf } from './service.ts';
