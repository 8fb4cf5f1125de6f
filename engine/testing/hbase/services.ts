/** The services of the simulated HBase, as a connection reaches them. */
import { type ServerAnswer, answerOf, JavaException } from './answers.ts';
import { MasterService, registryAnswer } from './master-service.ts';
import { RegionService } from './region-service.ts';
import type { SimulatedHBase } from './simulated-hbase.ts';

/**
 * Answers a call of a method of a service on the server at `address` (`host:port`).
 * `parameter` is the length of a message, then the message.
 */
export type Services = (
  address: string,
  service: string,
  method: string,
  parameter: Uint8Array,
) => ServerAnswer;

export function servicesOf(hbase: SimulatedHBase): Services {
  const master = new MasterService(hbase);
  const servers = new Map(
    hbase.servers.map((server) => [server.address, new RegionService(hbase, server)]),
  );
  return (address, service, method, parameter) =>
    answerOf(() => {
      if (service === 'ClientMetaService') return registryAnswer(hbase, method);
      const regionServer = servers.get(address);
      const isMaster = address === hbase.options.master;
      if (service === 'MasterService' && isMaster) return master.answer(method, parameter);
      if (service === 'ClientService' && regionServer !== undefined) {
        return regionServer.answer(method, parameter);
      }
      throw new JavaException('UnknownServiceException', service);
    });
}
